// Small parts that everything is made of: buttons, badges, placeholders.
import { useState, type ButtonHTMLAttributes, type ReactNode } from "react";
import { copyText } from "../hooks/clipboard";
import { useTexts } from "../texts";
import { Check, Copy } from "./icons";

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & { look?: "main" | "plain" | "quiet" | "bad" };

const LOOKS = {
  main: "bg-accent text-on-accent hover:brightness-110 disabled:bg-sunk disabled:text-faint",
  plain: "border border-line-strong bg-raised text-ink hover:bg-sunk disabled:text-faint",
  quiet: "text-soft hover:bg-sunk hover:text-ink",
  bad: "border border-line-strong bg-raised text-bad hover:bg-bad-soft",
};

export function Button({ look = "plain", className = "", ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      className={`inline-flex h-9 items-center justify-center gap-1.5 rounded-md px-3.5 text-sm font-medium whitespace-nowrap transition-colors ${LOOKS[look]} ${className}`}
      {...rest}
    />
  );
}

export function IconButton({
  label,
  className = "",
  children,
  ...rest
}: ButtonHTMLAttributes<HTMLButtonElement> & { label: string }) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={`inline-flex size-9 shrink-0 items-center justify-center rounded-md text-soft transition-colors hover:bg-sunk hover:text-ink disabled:opacity-40 ${className}`}
      {...rest}
    >
      {children}
    </button>
  );
}

export function CopyButton({ text, className = "" }: { text: string | (() => string); className?: string }) {
  const t = useTexts();
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(typeof text === "string" ? text : text());
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <button
      type="button"
      onClick={() => void copy()}
      aria-label={isCopied ? t("copied") : t("copy")}
      className={`inline-flex h-7 items-center gap-1 rounded-md px-2 text-xs text-faint hover:bg-sunk hover:text-ink ${className}`}
    >
      {isCopied ? <Check size={14} /> : <Copy size={14} />}
      <span aria-hidden="true">{isCopied ? t("copied") : t("copy")}</span>
    </button>
  );
}

export function Kbd({ children }: { children: ReactNode }) {
  return (
    <kbd className="rounded border border-line bg-sunk px-1.5 font-sans text-xs text-faint">{children}</kbd>
  );
}

/** A line of grey where text will be. */
export function Bone({ className = "" }: { className?: string }) {
  return <div className={`animate-breathe rounded-md bg-sunk ${className}`} />;
}

export function Label({ children }: { children: ReactNode }) {
  return <h3 className="text-xs font-semibold tracking-wide text-faint">{children}</h3>;
}
