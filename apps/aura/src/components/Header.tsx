// The row above a session: its title, how it stands, who is here, and the way to everything else.
import { useEffect, useState } from "react";
import { useSeatName, useStanding, useWheel } from "../hooks/session";
import { rename, wheel } from "../hooks/wiring";
import { set, useApp, type OpenSession } from "../store/app";
import type { Standing } from "../store/conversation";
import { useTexts } from "../texts";
import { Clock, Dots, Menu, Wheel as WheelIcon } from "./icons";
import { Button, IconButton } from "./parts";

const CALM = "bg-sunk text-soft";
const LOOKS: Partial<Record<Standing, string>> = {
  building_context: "bg-accent-soft text-accent",
  thinking: "bg-accent-soft text-accent",
  writing: "bg-accent-soft text-accent",
  calling: "bg-accent-soft text-accent",
  stopping: "bg-accent-soft text-accent",
  approval: "bg-warn-soft text-warn",
  question: "bg-warn-soft text-warn",
  limit: "bg-warn-soft text-warn",
  stuck: "bg-bad-soft text-bad",
  failed: "bg-bad-soft text-bad",
  timed_out: "bg-bad-soft text-bad",
};
const MOVING = new Set<Standing>(["building_context", "thinking", "writing", "calling", "stopping", "limit"]);

export function StandingBadge({ standing, words }: { standing: Standing; words: string }) {
  return (
    <span
      data-standing={standing}
      className={`inline-flex h-6 items-center gap-1.5 rounded-full px-2.5 text-xs font-medium whitespace-nowrap max-sm:h-4 max-sm:bg-transparent max-sm:px-2 ${LOOKS[standing] ?? CALM}`}
    >
      <span className={`size-1.5 rounded-full bg-current ${MOVING.has(standing) ? "animate-breathe" : ""}`} />
      {words}
    </span>
  );
}

export function Header({
  open,
  isHistory,
  toggleHistory,
}: {
  open: OpenSession;
  isHistory: boolean;
  toggleHistory: () => void;
}) {
  const t = useTexts();
  const { key, words } = useStanding(open.shown);
  return (
    <header className="border-b border-line bg-page">
      <div className="flex h-14 items-center gap-2 px-2 sm:px-4">
        <IconButton label={t("sessions")} className="lg:hidden" onClick={() => set({ panel: "sessions" })}>
          <Menu />
        </IconButton>
        <div className="flex min-w-0 flex-1 flex-col items-start sm:flex-row sm:items-center sm:gap-2">
          <Title open={open} />
          <StandingBadge standing={key} words={words} />
        </div>
        <People open={open} />
        <IconButton
          label={t("history")}
          aria-pressed={isHistory}
          className={isHistory ? "bg-sunk text-ink" : ""}
          onClick={toggleHistory}
        >
          <Clock />
        </IconButton>
        <IconButton label={t("details")} onClick={() => set({ panel: "details" })}>
          <Dots />
        </IconButton>
      </div>
      <AskedForWheel open={open} />
    </header>
  );
}

function Title({ open }: { open: OpenSession }) {
  const t = useTexts();
  const [draft, setDraft] = useState<string | null>(null);
  useEffect(() => setDraft(null), [open.id]);
  const listed = useApp((state) => state.sessions?.find((one) => one.session_id === open.id)?.title);
  const title = open.now.title || listed || t("untitled");
  useEffect(() => {
    document.title = `${title} · AgentX`;
  }, [title]);
  if (draft !== null) {
    const done = () => {
      if (draft.trim() !== "" && draft !== title) void rename(open.id, draft.trim());
      setDraft(null);
    };
    return (
      <input
        autoFocus
        value={draft}
        maxLength={200}
        aria-label={t("rename")}
        onChange={(event) => setDraft(event.target.value)}
        onBlur={done}
        onKeyDown={(event) => {
          if (event.key === "Enter") done();
          if (event.key === "Escape") setDraft(null);
        }}
        className="h-8 min-w-0 flex-1 rounded-md border border-line bg-raised px-2 text-base font-semibold sm:max-w-md"
      />
    );
  }
  return (
    <h1 className="max-w-full min-w-0">
      <button
        type="button"
        title={t("rename")}
        onClick={() => setDraft(title)}
        className="block w-full truncate rounded-md px-2 py-1 text-left max-sm:py-0 max-sm:leading-5 text-base font-semibold hover:bg-sunk"
      >
        {title}
      </button>
    </h1>
  );
}

function People({ open }: { open: OpenSession }) {
  const t = useTexts();
  const name = useSeatName();
  const others = open.people.length;
  if (others < 2) return null;
  return (
    <button
      type="button"
      onClick={() => set({ panel: "details" })}
      title={open.people.map((one) => `${name(one.seat)} ${t(one.driving ? "drives" : "watches")}`).join("\n")}
      className="hidden items-center rounded-md p-1 hover:bg-sunk sm:flex"
    >
      <span className="sr-only">{t("who")}</span>
      {open.people.slice(0, 4).map((one) => (
        <span
          key={`${one.seat.person} ${one.seat.client}`}
          aria-hidden="true"
          className={`-ml-1.5 flex size-6 items-center justify-center rounded-full border-2 border-page text-xs font-semibold first:ml-0 ${one.driving ? "bg-accent text-on-accent" : "bg-line-strong text-page"}`}
        >
          {(one.seat.client.replace(/^web-/, "")[0] ?? "?").toUpperCase()}
        </span>
      ))}
    </button>
  );
}

/** Another person asks for control, and this tab has it. */
function AskedForWheel({ open }: { open: OpenSession }) {
  const t = useTexts();
  const name = useSeatName();
  const { isMine, asked } = useWheel(open);
  if (!isMine || !asked) return null;
  return (
    <div role="alert" className="flex flex-wrap items-center gap-2 bg-warn-soft px-4 py-2 text-sm text-warn">
      <WheelIcon size={16} />
      <span className="min-w-0 flex-1">{t("asksForWheel", { who: name(asked) })}</span>
      <Button className="h-8" onClick={() => void wheel(open.id, { hand: asked })}>
        {t("handOver")}
      </Button>
      <Button look="quiet" className="h-8" onClick={() => void wheel(open.id, "take")}>
        {t("keepControl")}
      </Button>
    </div>
  );
}
