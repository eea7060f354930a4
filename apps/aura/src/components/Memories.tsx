// Memories: the inbox of proposals, and what was accepted or refused. The person decides, changes and takes back.
import { useState } from "react";
import type { Memory, MemoryPage } from "../connection/http";
import { useAnswer } from "../hooks/answer";
import { attempt, go, http } from "../hooks/wiring";
import { closePanel, useApp } from "../store/app";
import { useTexts } from "../texts";
import { Pin } from "./icons";
import { Bone, Button, Failed, FIELD, IconButton, Segments } from "./parts";

const STATES = ["proposed", "accepted", "refused"] as const;
type State = (typeof STATES)[number];

/** The longest text of a memory, as the server takes it. */
const LONGEST = 1000;

type Change = { state?: "accepted" | "refused"; text?: string; pinned?: boolean };

export function Memories() {
  const t = useTexts();
  const [state, setState] = useState<State>("proposed");
  const [query, setQuery] = useState("");
  const asked = { state, q: query.trim(), limit: 200 };
  const { value, error, again } = useAnswer<MemoryPage>("/v1/memories", asked, { isFast: true });
  const name = (one: State) => {
    const count = one === "proposed" ? value?.waiting : one === "accepted" ? value?.accepted : undefined;
    return count ? t("memoryCount", { name: t(`mem_${one}`), count }) : t(`mem_${one}`);
  };
  // While another list is on its way, the last one is still there.
  const items = value?.items.filter((one) => one.state === state) ?? [];
  return (
    <>
      {value && !value.enabled && (
        <p role="status" className="rounded-md bg-warn-soft px-3 py-2 text-sm text-warn">
          {t("memoryOff")}
        </p>
      )}
      <p className="text-sm text-soft">{t("memoryHint")}</p>
      <Segments label={t("set_memory")} value={state} options={STATES.map((one) => [one, name(one)])} choose={setState} />
      <input
        type="search"
        value={query}
        onChange={(event) => setQuery(event.target.value)}
        placeholder={t("memorySearch")}
        aria-label={t("memorySearch")}
        className={`${FIELD} w-full`}
      />
      {!value && error && <Failed text={t("listFailed")} why={error} again={again} />}
      {!value && !error && <Bone className="h-24 w-full" />}
      {value && items.length === 0 && (
        <p className="text-sm text-soft">{t(state === "proposed" && query.trim() === "" ? "memoryEmpty" : "nothing")}</p>
      )}
      <ul className="divide-y divide-line">
        {items.map((memory) => (
          <Row key={memory.id} memory={memory} changed={again} />
        ))}
      </ul>
    </>
  );
}

function Row({ memory, changed }: { memory: Memory; changed: () => void }) {
  const t = useTexts();
  const [draft, setDraft] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const path = `/v1/memories/${memory.id}`;
  const act = async (what: () => Promise<unknown>) => {
    setBusy(true);
    const done = await attempt(async () => {
      await what();
      return true;
    });
    setBusy(false);
    if (!done) return;
    setDraft(null);
    changed();
  };
  const change = (wish: Change) => void act(() => http().patch(path, wish));
  const remove = () => void act(() => http().delete(path));
  return (
    <li className="space-y-2 py-3">
      {draft === null ? (
        <p className="text-sm break-words">{memory.text}</p>
      ) : (
        <textarea
          autoFocus
          rows={3}
          maxLength={LONGEST}
          value={draft}
          aria-label={t("memoryText")}
          onChange={(event) => setDraft(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Escape") return;
            event.stopPropagation();
            setDraft(null);
          }}
          className="block w-full resize-y rounded-md border border-line-strong bg-raised px-2.5 py-2 text-sm"
        />
      )}
      <p className="flex flex-wrap gap-x-2 text-xs text-faint">
        <Origin memory={memory} />
        {memory.folder && <span className="font-mono break-all">{memory.folder}</span>}
        {memory.pinned && <span className="text-accent">{t("pinned")}</span>}
      </p>
      <div className="flex flex-wrap items-center gap-1.5">
        {draft === null ? (
          <Choices memory={memory} isBusy={isBusy} change={change} edit={() => setDraft(memory.text)} remove={remove} />
        ) : (
          <>
            <Button
              look="main"
              disabled={isBusy || draft.trim() === ""}
              onClick={() => change(memory.state === "proposed" ? { text: draft, state: "accepted" } : { text: draft })}
            >
              {t(memory.state === "proposed" ? "saveAccept" : "save")}
            </Button>
            <Button look="quiet" disabled={isBusy} onClick={() => setDraft(null)}>
              {t("cancel")}
            </Button>
          </>
        )}
      </div>
    </li>
  );
}

interface ChoicesProps {
  memory: Memory;
  isBusy: boolean;
  change: (wish: Change) => void;
  edit: () => void;
  remove: () => void;
}

/** What can be done with a memory in its state. */
function Choices({ memory, isBusy, change, edit, remove }: ChoicesProps) {
  const t = useTexts();
  const isWaiting = memory.state === "proposed";
  const [isSure, setSure] = useState(false);
  return (
    <>
      {memory.state !== "accepted" && (
        <Button look={isWaiting ? "main" : "plain"} disabled={isBusy} onClick={() => change({ state: "accepted" })}>
          {t("accept")}
        </Button>
      )}
      {memory.state !== "refused" && (
        <Button disabled={isBusy} onClick={() => change({ state: "refused" })}>
          {t(isWaiting ? "refuse" : "takeBack")}
        </Button>
      )}
      {memory.state !== "refused" && (
        <Button look="quiet" disabled={isBusy} onClick={edit}>
          {t("edit")}
        </Button>
      )}
      {!isWaiting && (
        <Button
          look={isSure ? "bad" : "quiet"}
          disabled={isBusy}
          onBlur={() => setSure(false)}
          onClick={() => (isSure ? remove() : setSure(true))}
        >
          {t(isSure ? "removeSure" : "remove")}
        </Button>
      )}
      {memory.state === "accepted" && (
        <IconButton
          label={t(memory.pinned ? "unpinIt" : "pinIt")}
          aria-pressed={memory.pinned}
          disabled={isBusy}
          onClick={() => change({ pinned: !memory.pinned })}
          className={memory.pinned ? "text-accent" : ""}
        >
          <Pin size={16} />
        </IconButton>
      )}
    </>
  );
}

/** Where it comes from, as a way there if the session is still listed. */
function Origin({ memory }: { memory: Memory }) {
  const t = useTexts();
  const { session_id: session, seq } = memory;
  const isListed = useApp((state) => state.sessions?.some((one) => one.session_id === session) ?? false);
  if (!session) return <span>{t("memoryMine")}</span>;
  if (!isListed) return <span>{t("memoryFrom")}</span>;
  const show = () => {
    closePanel();
    go(session, seq);
  };
  return (
    <button
      type="button"
      onClick={show}
      className="underline decoration-line-strong underline-offset-4 hover:decoration-accent"
    >
      {t("memoryFrom")}
    </button>
  );
}
