// The page: the list of sessions, the open session, and what lies over them.
import { AnimatePresence, LazyMotion, MotionConfig } from "motion/react";
import * as m from "motion/react-m";
import { useState } from "react";
import { useKeys } from "../hooks/keys";
import { useStanding } from "../hooks/session";
import { moveTo, useApp, type OpenSession } from "../store/app";
import { useTexts } from "../texts";
import { Composer } from "./Composer";
import { Details } from "./Details";
import { Drawer } from "./Drawer";
import { Header } from "./Header";
import { Context } from "./Context";
import { History, type HistoryView } from "./History";
import { Palette } from "./Palette";
import { QuestionCard } from "./QuestionCard";
import { EmptySession, GoneSession, LoadingSession, OfflineBar, SignIn, Start } from "./Screens";
import { Settings } from "./Settings";
import { Sidebar } from "./Sidebar";
import { State } from "./State";
import { Announcer, Transcript } from "./Transcript";

const features = () => import("../hooks/motion").then((module) => module.default);

export function App() {
  const t = useTexts();
  const connection = useApp((state) => state.connection);
  const session = useApp((state) => state.open?.id ?? null);
  const panel = useApp((state) => state.panel);
  useKeys();
  if (connection === "signed_out") return <SignIn />;
  return (
    <LazyMotion features={features} strict>
      <MotionConfig reducedMotion="user">
        <div className="grid h-full lg:grid-cols-[18rem_1fr]" inert={panel !== "none"}>
          <div className="hidden min-h-0 border-r border-line lg:block">
            <Sidebar />
          </div>
          <main className="flex min-h-0 min-w-0 flex-col">
            <OfflineBar />
            <div className="min-h-0 flex-1">{session ? <OpenedSession key={session} /> : <Start />}</div>
          </main>
        </div>
        <AnimatePresence>
          {panel === "sessions" && (
            <Drawer key="sessions" side="left" label={t("sessions")}>
              <Sidebar isDrawer />
            </Drawer>
          )}
          {panel === "details" && session && (
            <Drawer key="details" side="right" label={t("details")}>
              <OpenedDetails />
            </Drawer>
          )}
          {panel === "settings" && <Settings key="settings" />}
          {panel === "palette" && <Palette key="palette" />}
        </AnimatePresence>
        <Toasts />
      </MotionConfig>
    </LazyMotion>
  );
}

// Words change the session many times a second; the rest of the page stays as it is.
function OpenedSession() {
  const open = useApp((state) => state.open);
  return open && <Session open={open} />;
}

function OpenedDetails() {
  const open = useApp((state) => state.open);
  return open && <Details open={open} />;
}

function Session({ open }: { open: OpenSession }) {
  const t = useTexts();
  const [isHistory, setHistory] = useState(false);
  const [view, setView] = useState<HistoryView>("conversation");
  const isLive = open.at === null;
  const { words } = useStanding(open.now);
  const question = open.shown.questions[0];
  const root = open.shown.root ? open.shown.agents[open.shown.root] : undefined;
  const isEmpty = (root?.items.length ?? 0) === 0;
  const isGone = open.problem !== null && open.now.seq === 0;
  const toggle = () => {
    setHistory(!isHistory);
    setView("conversation");
    if (isHistory) moveTo(null);
  };
  return (
    <div className="flex h-full flex-col">
      <Header open={open} isHistory={isHistory} toggleHistory={toggle} />
      {isHistory && <History open={open} view={view} show={setView} />}
      {open.wentBack && <p className="bg-warn-soft px-4 py-2 text-sm text-warn">{t("wentBack")}</p>}
      <Announcer state={open.now} standing={words} />
      {isGone ? (
        <GoneSession open={open} />
      ) : isEmpty && !open.isCaughtUp && open.now.seq === 0 ? (
        <LoadingSession />
      ) : view === "context" ? (
        <Context open={open} />
      ) : view === "state" ? (
        <State open={open} />
      ) : isEmpty ? (
        <EmptySession />
      ) : (
        <Transcript state={open.shown} isLive={isLive} />
      )}
      <div className="mx-auto w-full max-w-[46rem] px-3 pb-[max(0.75rem,env(safe-area-inset-bottom))] sm:px-6">
        {isGone || view !== "conversation" ? null : !isLive ? (
          <p className="pb-3 text-center text-sm text-soft">{t("past")}</p>
        ) : question ? (
          <>
            <QuestionCard key={question.tool_call_id} open={open} question={question} />
            <div className="h-2" />
            <Composer open={open} />
          </>
        ) : (
          <Composer open={open} />
        )}
      </div>
    </div>
  );
}

function Toasts() {
  const toasts = useApp((state) => state.toasts);
  return (
    <div className="pointer-events-none fixed inset-x-0 bottom-24 z-40 flex flex-col items-center gap-2 px-4" role="status" aria-live="polite">
      <AnimatePresence>
        {toasts.map((one) => (
          <m.p
            key={one.id}
            initial={{ opacity: 0, y: 8 }}
            animate={{ opacity: 1, y: 0 }}
            exit={{ opacity: 0 }}
            className={`pointer-events-auto max-w-xl rounded-lg border px-4 py-2.5 text-sm break-words shadow-pop ${one.isError ? "border-bad bg-bad-soft text-bad" : "border-line bg-raised"}`}
          >
            {one.text}
          </m.p>
        ))}
      </AnimatePresence>
    </div>
  );
}
