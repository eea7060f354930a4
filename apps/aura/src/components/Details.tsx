// The panel about a session: who is here, the wheel, what it used, and what can be done with it.
import { useState } from "react";
import type { SessionState } from "../connection/http";
import { useAnswer } from "../hooks/answer";
import { useSeatName, useWheel } from "../hooks/session";
import { remove, wheel } from "../hooks/wiring";
import { closePanel, type OpenSession } from "../store/app";
import { useTexts } from "../texts";
import { AgentChoices } from "./AgentChoices";
import { Family } from "./Family";
import { shortPath, spent, tokens } from "./format";
import { Close, Wheel as WheelIcon } from "./icons";
import { Button, Fact, Group, IconButton } from "./parts";
import { Sharing } from "./Sharing";

export function Details({ open }: { open: OpenSession }) {
  const t = useTexts();
  // A run that begins or ends, and a change of the configuration, may have changed what stands here.
  const step = open.now.modelCalls + open.people.length;
  const asked = useAnswer<SessionState>(`/v1/sessions/${open.id}/state`, {}, { step });
  const config = asked.value?.config ?? null;
  return (
    <div className="flex h-full flex-col">
      <div className="flex h-14 shrink-0 items-center justify-between pr-2 pl-5">
        <h2 className="font-semibold">{t("details")}</h2>
        <IconButton label={t("close")} onClick={closePanel}>
          <Close />
        </IconButton>
      </div>
      <div className="min-h-0 flex-1 space-y-7 overflow-y-auto px-5 pb-8">
        <Who open={open} />
        <Usage open={open} />
        <AgentChoices open={open} config={config} again={asked.again} />
        <Group label={t("session")}>
          <Fact name={t("folder")}>{shortPath(open.now.workspace, "")}</Fact>
          <Fact name="id">
            <span className="font-mono text-xs">{open.id}</span>
          </Fact>
        </Group>
        <Family id={open.id} />
        <Sharing open={open} roles={asked.value?.sharing?.roles ?? {}} again={asked.again} />
        {open.role === "own" && <Remove open={open} />}
      </div>
    </div>
  );
}

function Who({ open }: { open: OpenSession }) {
  const t = useTexts();
  const name = useSeatName();
  const { isMine, isFree, isOwnElsewhere, mayDrive } = useWheel(open);
  return (
    <Group label={t("who")}>
      <ul className="space-y-2">
        {open.people.map((one) => (
          <li key={`${one.seat.person} ${one.seat.client}`} className="flex min-h-8 items-center gap-2 text-sm">
            <WheelIcon size={17} className={one.driving ? "text-accent" : "opacity-0"} />
            <span className="min-w-0 flex-1 truncate">{name(one.seat)}</span>
            {isMine && !one.driving && (one.role === "drive" || one.role === "own") ? (
              <Button className="h-8 px-2.5" onClick={() => void wheel(open.id, { hand: one.seat })}>
                {t("handOver")}
              </Button>
            ) : (
              <span className="text-xs text-faint">{t(one.driving ? "drives" : "watches")}</span>
            )}
          </li>
        ))}
      </ul>
      {isFree && <p className="text-sm text-soft">{t("nobodyDrives")}</p>}
      {mayDrive && (isFree || isOwnElsewhere) && (
        <Button onClick={() => void wheel(open.id, "take")}>{t("takeControl")}</Button>
      )}
      {isMine && <Button onClick={() => void wheel(open.id, "release")}>{t("releaseControl")}</Button>}
    </Group>
  );
}

function Usage({ open }: { open: OpenSession }) {
  const t = useTexts();
  const { usage, cost, modelCalls } = open.shown;
  return (
    <Group label={t("usage")}>
      <Fact name={t("tokensIn")}>{tokens(usage.input_tokens)}</Fact>
      {usage.cache_read_tokens ? <Fact name={t("cached")}>{tokens(usage.cache_read_tokens)}</Fact> : null}
      <Fact name={t("tokensOut")}>{tokens(usage.output_tokens)}</Fact>
      <Fact name={t("modelCalls")}>{modelCalls}</Fact>
      <Fact name={t("cost")}>{spent(cost, usage)}</Fact>
    </Group>
  );
}

function Remove({ open }: { open: OpenSession }) {
  const t = useTexts();
  const [isAsking, setAsking] = useState(false);
  if (!isAsking) {
    return (
      <Button look="bad" onClick={() => setAsking(true)}>
        {t("deleteSession")}
      </Button>
    );
  }
  return (
    <div className="space-y-2 text-sm" role="alert">
      <p>{t("deleteSure")}</p>
      <div className="flex gap-2">
        <Button look="bad" onClick={() => void remove(open.id)}>
          {t("deleteSession")}
        </Button>
        <Button look="quiet" onClick={() => setAsking(false)}>
          {t("cancel")}
        </Button>
      </div>
    </div>
  );
}
