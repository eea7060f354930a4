// The slider over a session: its conversation and state after any event.
import { fork } from "../hooks/wiring";
import { moveTo, type OpenSession } from "../store/app";
import { useApp } from "../store/app";
import { useTexts } from "../texts";
import { clock } from "./format";
import { Fork } from "./icons";
import { Button } from "./parts";

export function History({ open }: { open: OpenSession }) {
  const t = useTexts();
  const language = useApp((state) => state.language);
  const last = open.timeline.length;
  const at = open.at ?? last;
  const filled = last === 0 ? 100 : (100 * at) / last;
  return (
    <div className="border-b border-line bg-side px-4 py-2">
      <div className="mx-auto flex max-w-[46rem] flex-wrap items-center gap-x-4 gap-y-1">
        <input
          type="range"
          min={1}
          max={Math.max(1, last)}
          value={at}
          onChange={(event) => moveTo(Number(event.target.value))}
          aria-label={t("history")}
          aria-valuetext={t("eventOf", { seq: open.shown.seq, last: open.now.seq })}
          className="slider min-w-48 flex-1"
          style={{ "--filled": `${filled}%` } as React.CSSProperties}
        />
        <span className="text-xs text-faint tabular-nums">
          {t("eventOf", { seq: open.shown.seq, last: open.now.seq })}
          {open.shown.at > 0 && ` · ${clock(open.shown.at, language)}`}
        </span>
        {open.at !== null && (
          <span className="flex items-center gap-1">
            {open.role === "own" && (
              <Button look="quiet" className="h-8 px-2" onClick={() => void fork(open.id, open.shown.seq)}>
                <Fork size={15} /> {t("forkHere")}
              </Button>
            )}
            <Button className="h-8 px-2.5" onClick={() => moveTo(null)}>
              {t("backToNow")}
            </Button>
          </span>
        )}
      </div>
    </div>
  );
}
