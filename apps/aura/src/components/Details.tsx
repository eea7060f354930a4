// The panel about a session: who is here, the wheel, what it used, and what can be done with it.
import { useState, type ReactNode } from "react";
import { useSeatName, useWheel } from "../hooks/session";
import { setLanguage, setTheme } from "../hooks/settings";
import { remove, wheel } from "../hooks/wiring";
import { set, useApp, type OpenSession } from "../store/app";
import { useTexts } from "../texts";
import { LANGUAGES, NAMES } from "../texts/table";
import { money, shortPath, tokens } from "./format";
import { Close, Wheel as WheelIcon } from "./icons";
import { Button, IconButton, Label } from "./parts";

export function Details({ open }: { open: OpenSession }) {
  const t = useTexts();
  return (
    <div className="flex h-full flex-col">
      <div className="flex h-14 items-center justify-between pr-2 pl-5">
        <h2 className="font-semibold">{t("details")}</h2>
        <IconButton label={t("close")} onClick={() => set({ panel: "none" })}>
          <Close />
        </IconButton>
      </div>
      <div className="min-h-0 flex-1 space-y-7 overflow-y-auto px-5 pb-8">
        <Who open={open} />
        <Usage open={open} />
        <Group label={t("session")}>
          <Fact name={t("model")}>{open.now.model}</Fact>
          <Fact name={t("folder")}>{shortPath(open.now.workspace, "")}</Fact>
          <Fact name="id">
            <span className="font-mono text-xs">{open.id}</span>
          </Fact>
        </Group>
        <Choices />
        {open.role === "own" && <Remove open={open} />}
      </div>
    </div>
  );
}

function Group({ label, children }: { label: string; children: ReactNode }) {
  return (
    <section>
      <Label>{label}</Label>
      <div className="mt-2 space-y-1.5">{children}</div>
    </section>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <p className="flex gap-3 text-sm">
      <span className="w-24 shrink-0 text-faint">{name}</span>
      <span className="min-w-0 flex-1 break-words tabular-nums">{children}</span>
    </p>
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
      <Fact name={t("cost")}>{money(cost)}</Fact>
    </Group>
  );
}

function Choices() {
  const t = useTexts();
  const theme = useApp((state) => state.theme);
  const language = useApp((state) => state.language);
  return (
    <>
      <Group label={t("theme")}>
        <Segments
          label={t("theme")}
          value={theme}
          options={(["system", "light", "dark"] as const).map((one) => [one, t(`theme_${one}`)])}
          choose={setTheme}
        />
      </Group>
      <Group label={t("language")}>
        <Segments
          label={t("language")}
          value={language}
          options={LANGUAGES.map((one) => [one, NAMES[one]])}
          choose={setLanguage}
        />
      </Group>
    </>
  );
}

function Segments<T extends string>({
  label,
  value,
  options,
  choose,
}: {
  label: string;
  value: T;
  options: (readonly [T, string])[];
  choose: (value: T) => void;
}) {
  return (
    <div role="radiogroup" aria-label={label} className="flex rounded-md bg-sunk p-0.5">
      {options.map(([one, name]) => (
        <button
          key={one}
          type="button"
          role="radio"
          aria-checked={one === value}
          onClick={() => choose(one)}
          className={`h-8 flex-1 rounded-md px-2 text-xs whitespace-nowrap ${one === value ? "bg-raised font-semibold shadow-low" : "text-soft"}`}
        >
          {name}
        </button>
      ))}
    </div>
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
