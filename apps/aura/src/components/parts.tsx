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
      <span aria-hidden="true" className="max-sm:hidden">
        {isCopied ? t("copied") : t("copy")}
      </span>
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

export function Label({ children, tag: Tag = "h3" }: { children: ReactNode; tag?: "h3" | "p" }) {
  return <Tag className="text-xs font-semibold tracking-wide text-faint">{children}</Tag>;
}

export function Group({ label, children }: { label: string; children: ReactNode }) {
  return (
    <section>
      <Label>{label}</Label>
      <div className="mt-2 space-y-1.5">{children}</div>
    </section>
  );
}

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <p className="flex gap-3 text-sm">
      <span className="w-24 shrink-0 truncate text-faint">{name}</span>
      <span className="min-w-0 flex-1 break-words tabular-nums">{children}</span>
    </p>
  );
}

/** One of a few choices, side by side. */
export function Segments<T extends string>({
  label,
  value,
  options,
  choose,
  isDisabled = false,
}: {
  label: string;
  value: T | null;
  options: (readonly [T, string])[];
  choose: (value: T) => void;
  isDisabled?: boolean;
}) {
  const move = (event: React.KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const at = options.findIndex(([one]) => one === value);
    const next = options[(at + step + options.length) % options.length];
    if (step === 0 || !next) return;
    event.preventDefault();
    choose(next[0]);
    const buttons = event.currentTarget.querySelectorAll("button");
    buttons[options.indexOf(next)]?.focus();
  };
  return (
    <div role="radiogroup" aria-label={label} onKeyDown={move} className="flex flex-wrap rounded-md bg-sunk p-0.5">
      {options.map(([one, name], at) => (
        <button
          key={one}
          type="button"
          role="radio"
          aria-checked={one === value}
          tabIndex={one === value || (value === null && at === 0) ? 0 : -1}
          disabled={isDisabled}
          onClick={() => choose(one)}
          className={`h-8 flex-1 rounded-md px-2 text-xs whitespace-nowrap ${one === value ? "bg-raised font-semibold shadow-low" : "text-soft enabled:hover:text-ink"}`}
        >
          {name}
        </button>
      ))}
    </div>
  );
}

/** What could not be loaded, why, and another try. */
export function Failed({ text, why, again }: { text: string; why: string; again: () => void }) {
  const t = useTexts();
  return (
    <div className="space-y-2 text-sm text-soft">
      <p className="font-medium text-ink">{text}</p>
      <p className="break-words">{why}</p>
      <Button onClick={again}>{t("retry")}</Button>
    </div>
  );
}

export const FIELD =
  "h-9 min-w-0 rounded-md border border-line-strong bg-raised px-2.5 text-sm placeholder:text-faint disabled:text-faint";
