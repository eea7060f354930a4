// A call of a tool as a card: one row that says what it does, and below it what it got and gave.
import { memo, useState, type ReactNode } from "react";
import type { Call } from "../store/conversation";
import { useTexts, type TextKey } from "../texts";
import { duration, money } from "./format";
import { Check, Chevron, Cross, File, Globe, Pencil, Terminal, Tool, Warning } from "./icons";
import { Diff, parseDiff } from "./Diff";
import { CopyButton, Label } from "./parts";
import { changeOf, costOf, kindOf, outcomeOf, outputOf, plain, progressOf, summary } from "./tool";

const KINDS = { command: Terminal, change: Pencil, read: File, web: Globe, other: Tool };
/** Lines of output that are shown while a call runs, and before the rest is asked for. */
const LINES = 12;

export const CallCard = memo(function CallCard({ call, workspace }: { call: Call; workspace: string }) {
  const change = changeOf(call.details);
  const [isOpen, setOpen] = useState<boolean | null>(null);
  const isShown = isOpen ?? (call.state === "running" || change !== null);
  const Icon = KINDS[kindOf(call.name, call.input)];
  return (
    <div role="group" className="overflow-hidden rounded-lg border border-line bg-raised shadow-low" aria-label={call.name}>
      <button
        type="button"
        aria-expanded={isShown}
        onClick={() => setOpen(!isShown)}
        className="flex min-h-11 w-full items-center gap-2.5 px-3 py-2 text-left text-sm hover:bg-sunk"
      >
        <Icon size={16} className="text-faint" />
        <span className="font-medium">{call.name}</span>
        <span className="min-w-0 flex-1 truncate font-mono text-xs text-soft">{summary(call.input, workspace)}</span>
        <Outcome call={call} change={change} />
        <Chevron size={14} className={`text-faint transition-transform ${isShown ? "rotate-90" : ""}`} />
      </button>
      {isShown && <Inside call={call} change={change} />}
    </div>
  );
});

function Outcome({ call, change }: { call: Call; change: ReturnType<typeof changeOf> }) {
  const t = useTexts();
  const cost = costOf(call.details);
  if (call.state === "running") {
    return (
      <span className="flex items-center gap-1.5 text-xs text-accent">
        <span className="size-1.5 animate-breathe rounded-full bg-accent" />
        {t("running")}
      </span>
    );
  }
  if (call.state === "asked") return <span className="text-xs font-medium text-warn">{t("asked")}</span>;
  if (call.state === "planned") return <span className="text-xs text-faint">{t("planned")}</span>;
  const isGood = call.state === "done";
  return (
    <span className="flex items-center gap-2 text-xs text-faint tabular-nums">
      {change && (
        <span className="hidden gap-1.5 sm:flex" title={t("lines", { added: change.added, removed: change.removed })}>
          <span className="text-good">+{change.added}</span>
          <span className="text-bad">−{change.removed}</span>
        </span>
      )}
      {cost !== null && <span>{money(cost)}</span>}
      {call.duration_ms ? <span className="hidden sm:inline">{duration(call.duration_ms)}</span> : null}
      {isGood ? (
        <Check size={16} className="text-good" />
      ) : (
        <span className="flex items-center gap-1 text-bad">
          {call.status === "unknown" ? <Warning size={14} /> : <Cross size={14} />}
          {t(`ts_${call.status ?? "failed"}` as TextKey)}
        </span>
      )}
    </span>
  );
}

function Inside({ call, change }: { call: Call; change: ReturnType<typeof changeOf> }) {
  const t = useTexts();
  const output = outputOf(call);
  const result = output === "" && change === null ? plain(call.result) : "";
  const progress = call.state === "running" ? progressOf(call) : "";
  const { exit, isSandboxed } = outcomeOf(call.details);
  return (
    <div className="space-y-3 border-t border-line px-3 py-3">
      <Arguments input={call.input} isHidden={change !== null} />
      {output !== "" && (
        <Part label={t("output")} copied={output}>
          <Lines text={output} fromEnd={call.state === "running"} />
        </Part>
      )}
      {progress && <p className="text-xs text-soft">{progress}</p>}
      {change && <Diff rows={parseDiff(change.diff)} />}
      {result !== "" && (
        <Part label={t("result")} copied={result}>
          <Lines text={result} fromEnd={false} />
        </Part>
      )}
      {call.error && output === "" && result === "" && <p className="text-sm text-bad">{call.error}</p>}
      {(exit !== null || isSandboxed) && (
        <p className="text-xs text-faint">
          {[exit !== null ? `exit ${exit}` : "", isSandboxed ? t("inSandbox") : ""].filter(Boolean).join(" · ")}
        </p>
      )}
    </div>
  );
}

function Part({ label, copied, children }: { label: string; copied: string; children: ReactNode }) {
  return (
    <div>
      <div className="-mt-1 mb-1 flex h-7 items-center justify-between">
        <Label tag="p">{label}</Label>
        <CopyButton text={copied} className="-mr-2" />
      </div>
      {children}
    </div>
  );
}

/** The arguments of a call: its command as it will run, the others by name. */
export function Arguments({ input, isHidden = false }: { input: unknown; isHidden?: boolean }) {
  const t = useTexts();
  if (isHidden || typeof input !== "object" || input === null) return null;
  const fields = Object.entries(input as Record<string, unknown>);
  if (fields.length === 0) return null;
  return (
    <div>
      <Label tag="p">{t("arguments")}</Label>
      <dl className="mt-1.5 space-y-1.5">
        {fields.map(([name, value]) => (
          <div key={name} className="grid gap-x-3 sm:grid-cols-[7rem_1fr]">
            <dt className="truncate text-xs leading-5 text-faint">{name}</dt>
            <dd className="min-w-0">
              <Lines text={typeof value === "string" ? value : JSON.stringify(value, null, 2)} fromEnd={false} />
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

export function Lines({ text, fromEnd }: { text: string; fromEnd: boolean }) {
  const t = useTexts();
  const [isWhole, setWhole] = useState(false);
  const lines = text.replace(/\n$/, "").split("\n");
  const rest = Math.max(0, lines.length - LINES);
  const shown = isWhole ? lines : fromEnd ? lines.slice(-LINES) : lines.slice(0, LINES);
  return (
    <>
      <pre className="max-h-[60vh] overflow-auto font-mono text-xs leading-5 break-words whitespace-pre-wrap">{shown.join("\n")}</pre>
      {rest > 0 && (
        <button type="button" className="mt-1 text-xs text-accent" onClick={() => setWhole(!isWhole)}>
          {isWhole ? t("fewer") : t("moreLines", { count: rest })}
        </button>
      )}
    </>
  );
}
