// The slider over a session: its conversation, its state and the request to the model, at any event.
import { fork } from "../hooks/wiring";
import { moveTo, type OpenSession } from "../store/app";
import { useApp } from "../store/app";
import { useTexts } from "../texts";
import { clock } from "./format";
import { Chevron, Fork } from "./icons";
import { Button, IconButton, Segments } from "./parts";

export type HistoryView = "conversation" | "state" | "context";

export function History({ open, view, show }: { open: OpenSession; view: HistoryView; show: (view: HistoryView) => void }) {
  const t = useTexts();
  const language = useApp((state) => state.language);
  const last = open.timeline.length;
  const at = open.at ?? last;
  const filled = last === 0 ? 100 : (100 * at) / last;
  const views = (["conversation", "state", "context"] as const).map((one) => [one, t(`view_${one}`)] as const);
  return (
    <section className="border-b border-line bg-side px-4 pt-1 pb-2" aria-label={t("history")}>
      <div className="mx-auto flex max-w-[46rem] flex-wrap items-center gap-x-3 gap-y-1 sm:px-2">
        <div className="flex min-w-56 flex-1 basis-full items-center gap-1">
          <IconButton label={t("eventBefore")} disabled={at <= 1 || open.isPartial} onClick={() => moveTo(at - 1)}>
            <Chevron size={16} className="rotate-180" />
          </IconButton>
          <input
            type="range"
            min={1}
            max={Math.max(1, last)}
            value={at}
            disabled={open.isPartial}
            onChange={(event) => moveTo(Number(event.target.value))}
            aria-label={t("history")}
            aria-valuetext={t("eventOf", { seq: open.shown.seq, last: open.now.seq })}
            className="slider min-w-0 flex-1"
            style={{ "--filled": `${filled}%` } as React.CSSProperties}
          />
          <IconButton label={t("eventAfter")} disabled={open.at === null} onClick={() => moveTo(at + 1)}>
            <Chevron size={16} />
          </IconButton>
        </div>
        <div className="w-full sm:w-72">
          <Segments label={t("history")} value={view} options={views} choose={show} />
        </div>
        <span className="text-xs text-faint tabular-nums">
          {open.isPartial ? t("loadingPast") : t("eventOf", { seq: open.shown.seq, last: open.now.seq })}
          {open.shown.at > 0 && ` · ${clock(open.shown.at, language)}`}
        </span>
        <span className={`ml-auto flex h-8 items-center gap-1 ${open.at === null ? "invisible" : ""}`}>
          {open.role === "own" && (
            <Button look="quiet" className="h-8 px-2" onClick={() => void fork(open.id, open.shown.seq)}>
              <Fork size={15} /> {t("forkHere")}
            </Button>
          )}
          <Button className="h-8 px-2.5" onClick={() => moveTo(null)}>
            {t("backToNow")}
          </Button>
        </span>
      </div>
    </section>
  );
}
