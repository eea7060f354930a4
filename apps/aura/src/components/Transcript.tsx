// The conversation: what people wrote, what agents said and did, in order. It stays at its end while words
// come, unless the person has scrolled away.
import { memo, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { ContentPart } from "../protocol";
import { useSecondsUntil } from "../hooks/session";
import { fork } from "../hooks/wiring";
import { reached, useApp } from "../store/app";
import type { Activity, Agent, AnswerItem, Conversation, Item, NoteItem, Part, TurnItem } from "../store/conversation";
import { useTexts, type TextKey } from "../texts";
import { CallCard } from "./CallCard";
import { Far, ScrollBox } from "./Far";
import { copied, duration, spent, tokens } from "./format";
import { Bot, Check, Chevron, Down, Fork, Thought, Warning } from "./icons";
import { Markdown } from "./Markdown";
import { CopyButton } from "./parts";

const NO_ITEMS: Item[] = [];
/** The height of a chunk that was never seen. */
const CHUNK_PX = 5000;
/** A conversation of so many chunks stays in the page as a whole: the browser's own search finds everything. */
const KEPT_CHUNKS = 4;
/** The distance from the end, in pixels, within which the view stays there. */
const NEAR = 80;

export function Transcript({ state, isLive }: { state: Conversation; isLive: boolean }) {
  const t = useTexts();
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  const { isAtEnd, toEnd, scrolled, leave } = useFollowing(box, state);
  const items = (state.root ? state.agents[state.root]?.items : undefined) ?? NO_ITEMS;
  const chunks = useMemo(() => inChunks(items), [items]);
  useTarget(box, chunks, leave);
  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={setBox}
        id="transcript"
        onScroll={scrolled}
        className="h-full overflow-y-auto overscroll-contain [scrollbar-gutter:stable_both-edges]"
        role="log"
        aria-label={t("a11yTranscript")}
        aria-live="off"
        tabIndex={0}
      >
        <ScrollBox value={box}>
          <div className="mx-auto flex max-w-[46rem] flex-col gap-5 px-4 pt-8 pb-10 sm:px-6">
            {chunks.map((chunk, at) => (
              <Far
                key={chunk[0]?.key}
                guess={CHUNK_PX}
                isKept={chunks.length <= KEPT_CHUNKS || at >= chunks.length - 2}
                className="flex flex-col gap-5"
              >
                <Chunk items={chunk} state={state} isLive={isLive} />
              </Far>
            ))}
          </div>
        </ScrollBox>
      </div>
      {!isAtEnd && (
        <button
          type="button"
          onClick={toEnd}
          className="absolute bottom-4 left-1/2 flex h-9 -translate-x-1/2 items-center gap-1.5 rounded-full border border-line bg-raised px-3.5 text-sm text-soft shadow-pop hover:text-ink"
        >
          <Down size={16} />
          {t("toNewest")}
        </button>
      )}
    </div>
  );
}

/**
 * Returns entries in chunks that come into the page and leave it together. An entry begins a chunk by its own
 * number alone, so that the chunks stay when entries are added before them.
 */
export function inChunks(items: Item[]): Item[][] {
  const chunks: Item[][] = [[]];
  for (const item of items) {
    const begins = Math.imul(item.seq, 0x9e3779b1) >>> 27 === 0;
    if (begins && chunks.at(-1)?.length) chunks.push([]);
    chunks.at(-1)?.push(item);
  }
  return chunks;
}

/** Keeps the view at the end while words come, unless the person has scrolled away. */
function useFollowing(box: HTMLDivElement | null, state: Conversation) {
  const [isAtEnd, setAtEnd] = useState(true);
  const follow = useRef(true);
  const toEnd = useCallback(() => {
    if (box) box.scrollTop = box.scrollHeight;
    follow.current = true;
    setAtEnd(true);
  }, [box]);
  useLayoutEffect(() => {
    if (follow.current) toEnd();
  }, [state, toEnd]);
  // What a person opens, and the composer that grows, change the height without an event.
  useEffect(() => {
    const inner = box?.firstElementChild;
    if (!box || !inner) return;
    const observer = new ResizeObserver(() => {
      if (follow.current) box.scrollTop = box.scrollHeight;
    });
    observer.observe(inner);
    observer.observe(box);
    return () => observer.disconnect();
  }, [box]);
  const scrolled = () => {
    if (!box) return;
    const isNear = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR;
    follow.current = isNear;
    setAtEnd(isNear);
  };
  const leave = useCallback(() => {
    follow.current = false;
  }, []);
  return { isAtEnd, toEnd, scrolled, leave };
}

/** Shows the entry that a search found, once the session is here. */
function useTarget(box: HTMLDivElement | null, chunks: Item[][], leave: () => void) {
  const target = useApp(({ open }) => (open?.isCaughtUp && !open.isPartial ? open.target : null));
  useEffect(() => {
    if (target === null || !box) return;
    const at = chunks.findLastIndex((chunk) => (chunk[0]?.seq ?? 0) <= target);
    const item = chunks[at]?.findLast((one) => one.seq <= target);
    reached();
    if (!item) return;
    leave();
    box.firstElementChild?.children[at]?.scrollIntoView();
    // The chunk comes into the page with the next picture.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        const entry = box.querySelector<HTMLElement>(`[data-seq="${item.seq}"]`);
        entry?.scrollIntoView({ block: "center" });
        entry?.classList.add("found");
      }),
    );
  }, [box, chunks, leave, target]);
}

interface ChunkProps {
  items: Item[];
  state: Conversation;
  isLive: boolean;
}

/** Whether a chunk looks as before. Entries that stand for a call or an agent look at what those are now. */
function isSameChunk(before: ChunkProps, after: ChunkProps): boolean {
  if (before.isLive !== after.isLive || before.items.length !== after.items.length) return false;
  return after.items.every((item, at) => {
    if (before.items[at] !== item) return false;
    if (item.kind === "agent") return before.state.agents === after.state.agents;
    if (item.kind !== "answer") return true;
    if (item.isOpen && before.state.activity !== after.state.activity) return false;
    return hasSameCalls(item, before.state, after.state);
  });
}

const Chunk = memo(function Chunk({ items, state, isLive }: ChunkProps) {
  return items.map((item, at) => {
    const isTold = item.kind === "turn" && isTrouble(items[at - 1]);
    return <Entry key={item.key} item={item} state={state} isLive={isLive} isTold={isTold} />;
  });
}, isSameChunk);

/** Whether an entry already says why its run ended. */
function isTrouble(item: Item | undefined): boolean {
  return item?.kind === "note" && (item.note.code === "error" || item.note.code === "loop");
}

interface EntryProps {
  item: Item;
  state: Conversation;
  isLive: boolean;
  /** What ended the run stands in the entry before. */
  isTold?: boolean;
}

function Entry({ item, state, isLive, isTold = false }: EntryProps) {
  switch (item.kind) {
    case "input":
      return <Input content={item.content} by={item.by} seq={item.seq} />;
    case "answer":
      return <Answer item={item} state={state} isLive={isLive} />;
    case "turn":
      return <Turn item={item} isTold={isTold} answer={() => lastAnswer(state, item)} />;
    case "note":
      return <NoteLine item={item} />;
    case "agent": {
      const agent = state.agents[item.agent];
      return agent ? <Lane agent={agent} state={state} isLive={isLive} /> : null;
    }
  }
}

/** The time that clients may add as a last part, for the model alone. */
const SENT_AT = /^\[Sent at .* by the sender's clock\.\]$/;

interface InputProps {
  content: ContentPart[];
  by: string | null;
  seq: number;
}

const Input = memo(function Input({ content, by, seq }: InputProps) {
  const t = useTexts();
  const said = content.filter((part, at) => at === 0 || part.type !== "text" || !SENT_AT.test(part.text));
  const text = said.map((part) => (part.type === "text" ? part.text : "")).join("");
  const media = content.filter((part) => part.type === "image" || part.type === "audio" || part.type === "file");
  return (
    <article data-seq={seq} className="flex flex-col items-end not-first:mt-4" aria-label={by ?? t("you")}>
      {by && <span className="mb-1 text-xs text-faint">{by}</span>}
      <div className="max-w-[88%] rounded-xl rounded-br-md bg-accent-soft px-4 py-2.5 break-words whitespace-pre-wrap">
        {text}
        {media.map((part, at) => (
          <span key={at} className="mt-1 block text-xs text-soft">
            {t(part.type === "image" ? "a11yPicture" : "attachment")}: {("name" in part && part.name) || part.type}
          </span>
        ))}
      </div>
    </article>
  );
});

interface AnswerProps {
  item: AnswerItem;
  state: Conversation;
  isLive: boolean;
}

/** Whether an answer looks as before: neither it nor one of its calls has changed. */
function isSameAnswer(before: AnswerProps, after: AnswerProps): boolean {
  if (before.item !== after.item || before.isLive !== after.isLive) return false;
  if (after.item.isOpen && before.state.activity !== after.state.activity) return false;
  return hasSameCalls(after.item, before.state, after.state);
}

function hasSameCalls({ parts }: AnswerItem, before: Conversation, after: Conversation): boolean {
  return parts.every((part) => part.kind !== "call" || before.calls[part.call] === after.calls[part.call]);
}

const Answer = memo(function Answer({ item, state, isLive }: AnswerProps) {
  const t = useTexts();
  const isEmpty = item.parts.length === 0;
  return (
    <article data-seq={item.seq} className={`flex flex-col gap-4 ${item.isCutOff ? "opacity-60" : ""}`} aria-label={t("agent")}>
      {isEmpty && item.isOpen && isLive && <Waiting activity={state.activity} />}
      {item.parts.map((part, at) => (
        <AnswerPart key={at} part={part} state={state} isOpen={item.isOpen && isLive && at === item.parts.length - 1} />
      ))}
      {item.isCutOff && <p className="text-xs text-faint">{t("cutOff")}</p>}
      {item.stop === "cut_off" && !item.isCutOff && <p className="text-xs text-faint">{t("cutShort")}</p>}
    </article>
  );
}, isSameAnswer);

function AnswerPart({ part, state, isOpen }: { part: Part; state: Conversation; isOpen: boolean }) {
  if (part.kind === "text") return <Markdown text={part.text} />;
  if (part.kind === "thinking") return <Thinking part={part} isOpen={isOpen} />;
  const call = state.calls[part.call];
  return call ? <CallCard call={call} workspace={state.workspace} /> : null;
}

/** One line of the height of a line of text, so that the first words do not move anything. */
function Waiting({ activity }: { activity: Activity }) {
  const t = useTexts();
  const limit = activity.kind === "waiting" ? activity : null;
  const seconds = useSecondsUntil(limit?.until ?? null);
  return (
    <p className={`flex min-h-[1.6rem] items-center gap-2 text-sm ${limit ? "text-warn" : "text-faint"}`}>
      <span className={`size-1.5 shrink-0 animate-breathe rounded-full ${limit ? "bg-warn" : "bg-accent"}`} />
      {limit ? t(seconds ? "waitsLimitFor" : "waitsLimit", { why: limit.message, seconds: seconds ?? 0 }) : t("thinkingNow")}
    </p>
  );
}

const Thinking = memo(function Thinking({
  part,
  isOpen,
}: {
  part: Extract<Part, { kind: "thinking" }>;
  isOpen: boolean;
}) {
  const t = useTexts();
  const [isShown, setShown] = useState(false);
  if (part.text.trim() === "") return null;
  const seconds = Math.round((part.until - part.since) / 1e6);
  return (
    <div>
      <button
        type="button"
        aria-expanded={isShown}
        onClick={() => setShown(!isShown)}
        className="flex h-7 items-center gap-1.5 text-sm text-faint hover:text-ink"
      >
        <Thought size={15} className={isOpen ? "animate-breathe text-accent" : ""} />
        {isOpen ? t("thinkingNow") : seconds > 0 ? t("thought", { seconds }) : t("thoughtShort")}
        <Chevron size={13} className={`transition-transform ${isShown ? "rotate-90" : ""}`} />
      </button>
      {isShown && (
        <div className="mt-1 border-l-2 border-line pl-4 text-sm leading-6 whitespace-pre-wrap text-soft">{part.text}</div>
      )}
    </div>
  );
});

/** Returns the text of the answer that ended a run. */
function lastAnswer(state: Conversation, turn: TurnItem): string {
  const items = (state.root ? state.agents[state.root]?.items : undefined) ?? [];
  const end = items.findLastIndex((item) => item.key === turn.key);
  const answer = items.slice(0, end).findLast((item) => item.kind === "answer" || item.kind === "input");
  if (answer?.kind !== "answer") return "";
  return answer.parts.map((part) => (part.kind === "text" ? part.text : "")).join("\n\n").trim();
}

interface TurnProps {
  item: TurnItem;
  isTold: boolean;
  answer: () => string;
}

const Turn = memo(function Turn({ item, isTold, answer }: TurnProps) {
  const t = useTexts();
  const reason = item.reason ?? "";
  return (
    <div className="space-y-2">
      {item.status === "failed" && !isTold && <Trouble text={t("runFailed", { reason })} />}
      {item.status === "timed_out" && <Trouble text={t("runTimedOut", { reason })} />}
      {item.usage && (
        <p className="-mt-2 flex h-7 flex-wrap items-center gap-x-2 text-xs text-faint tabular-nums">
          <span>
            {t("turnInOut", {
              in: tokens(item.usage.input_tokens + (item.usage.cache_read_tokens ?? 0)),
              out: tokens(item.usage.output_tokens),
            })}
          </span>
          <span aria-hidden="true">·</span>
          <span>{spent(item.cost ?? 0, item.usage)}</span>
          <span aria-hidden="true">·</span>
          <span>{duration(item.duration_ms ?? 0)}</span>
          <CopyButton text={answer} />
          <ForkButton seq={item.seq} />
        </p>
      )}
    </div>
  );
}, (before, after) => before.item === after.item && before.isTold === after.isTold);

/** Makes a session of its own that continues from here. */
function ForkButton({ seq }: { seq: number }) {
  const t = useTexts();
  const id = useApp(({ open }) => (open?.role === "own" ? open.id : null));
  if (!id) return null;
  return (
    <button
      type="button"
      onClick={() => void fork(id, seq)}
      className="inline-flex h-7 items-center gap-1 rounded-md px-2 text-xs text-faint hover:bg-sunk hover:text-ink"
    >
      <Fork size={14} />
      <span className="max-sm:sr-only">{t("forkHere")}</span>
    </button>
  );
}

function Trouble({ text }: { text: string }) {
  return (
    <p className="flex items-start gap-2 rounded-lg bg-bad-soft px-3 py-2 text-sm text-bad">
      <Warning size={16} className="mt-0.5" />
      <span className="min-w-0 break-words">{text}</span>
    </p>
  );
}

const NoteLine = memo(function NoteLine({ item }: { item: NoteItem }) {
  const t = useTexts();
  const { note } = item;
  if (note.code === "resumed") return null;
  const text = t(`n_${note.code}` as TextKey, note as unknown as Record<string, string | number>);
  if (note.code === "error" || note.code === "loop") return <Trouble text={text} />;
  return (
    <p className="flex items-center gap-3 text-xs text-faint">
      <span className="h-px flex-1 bg-line" />
      <span className="max-w-[80%] text-center break-words">{text}</span>
      <span className="h-px flex-1 bg-line" />
    </p>
  );
});

/** Another agent: its lane stands where it was made. */
function Lane({ agent, state, isLive }: { agent: Agent; state: Conversation; isLive: boolean }) {
  const t = useTexts();
  const [isShown, setShown] = useState(false);
  const isBusy = isLive && !agent.isGone;
  return (
    <div role="group" className="overflow-hidden rounded-lg border border-line bg-side" aria-label={t("agentOf", { name: agent.name })}>
      <button
        type="button"
        aria-expanded={isShown}
        onClick={() => setShown(!isShown)}
        className="flex min-h-11 w-full items-center gap-2.5 px-3 py-2 text-left text-sm hover:bg-sunk"
      >
        <Bot size={16} className="text-faint" />
        <span className="font-medium">{agent.name}</span>
        <span className="min-w-0 flex-1 truncate text-soft">{lastWords(agent)}</span>
        {isBusy ? (
          <span className="flex shrink-0 items-center gap-1.5 text-xs text-accent">
            <span className="size-1.5 animate-breathe rounded-full bg-accent" />
            {t("running")}
          </span>
        ) : (
          <Check size={16} className="text-good" />
        )}
        <Chevron size={14} className={`text-faint transition-transform ${isShown ? "rotate-90" : ""}`} />
      </button>
      {isShown && (
        <div className="flex flex-col gap-5 border-t border-line px-4 py-4">
          {agent.items.map((item) => (
            <Entry key={item.key} item={item} state={state} isLive={isLive} />
          ))}
        </div>
      )}
    </div>
  );
}

function lastWords(agent: Agent): string {
  const answer = agent.items.findLast((item) => item.kind === "answer");
  if (answer?.kind !== "answer") return "";
  const part = answer.parts.findLast((one) => one.kind === "text");
  return part?.kind === "text" ? part.text.trim().slice(-120) : "";
}

/** Says finished sentences and changes of the state to screen readers, never single words. */
export function Announcer({ state, standing }: { state: Conversation; standing: string }) {
  const [said, setSaid] = useState("");
  const place = useRef({ key: "", part: 0, length: 0 });
  const connection = useApp((app) => app.connection);
  useEffect(() => {
    const root = state.root ? state.agents[state.root] : undefined;
    const item = root?.items.findLast((one) => one.kind === "answer");
    if (item?.kind !== "answer") return;
    const part = item.parts.findLastIndex((one) => one.kind === "text");
    const text = item.parts[part]?.kind === "text" ? item.parts[part].text : "";
    const { current } = place;
    const isFirst = current.key === "";
    const from = current.key === item.key && current.part === part ? current.length : 0;
    // What was there before the page is not read out.
    const end = isFirst && !item.isOpen ? text.length : item.isOpen ? lastEnd(text, from) : text.length;
    if (end <= from) return;
    place.current = { key: item.key, part, length: end };
    if (!isFirst || item.isOpen) setSaid(copied(text.slice(from, end).trim()));
  }, [state]);
  return (
    <>
      <div className="sr-only" role="status" aria-live="polite">
        {said}
      </div>
      <div className="sr-only" role="status" aria-live="polite">
        {standing}
        {connection === "offline" ? ` (${connection})` : ""}
      </div>
    </>
  );
}

/** Returns the end of the last finished sentence after a place. */
function lastEnd(text: string, from: number): number {
  const ends = [...text.slice(from).matchAll(/[.!?:]\s|[。！？]|\n/g)];
  const last = ends.at(-1);
  return last ? from + last.index + last[0].length : from;
}
