// The settings of the page and its person: who they are, how it looks, their browsers, what was used, and keys.
import { useState, type ReactNode } from "react";
import type { KeptToken, UsageRow } from "../connection/http";
import { keptLogin } from "../connection/login";
import { useAnswer } from "../hooks/answer";
import { copyText } from "../hooks/clipboard";
import { KEYS } from "../hooks/keys";
import { setLanguage, setTheme } from "../hooks/settings";
import { attempt, go, http, signOut } from "../hooks/wiring";
import { closePanel, showSettings, toast, useApp, type SettingsPart } from "../store/app";
import { NO_USAGE } from "../store/conversation";
import { addUsage } from "../store/fold";
import { useTexts } from "../texts";
import { LANGUAGES, NAMES } from "../texts/table";
import { Dialog } from "./Dialog";
import { spent, tokens, unpricedModels } from "./format";
import { Close, Device } from "./icons";
import { Memories } from "./Memories";
import { Bone, Button, Fact, Failed, Group, IconButton, Kbd, Label, Segments } from "./parts";
import { PushSwitch } from "./PushSwitch";

const PARTS: SettingsPart[] = ["you", "look", "browsers", "memory", "usage", "keys"];
/** The person of the server's machine, to whom its memories belong. */
const OPERATOR = "own_local";

export function Settings() {
  const t = useTexts();
  const isOperator = useApp((state) => state.person?.person === OPERATOR);
  const parts = PARTS.filter((one) => one !== "memory" || isOperator);
  const wanted = useApp((state) => state.settings);
  const part = parts.includes(wanted) ? wanted : "you";
  return (
    <Dialog
      label={t("settings")}
      around="z-30 flex items-end justify-center sm:items-center sm:p-6"
      initial={{ y: 10 }}
      animate={{ y: 0 }}
      transition={{ duration: 0.16 }}
      className="flex h-[min(40rem,92dvh)] w-full max-w-3xl flex-col overflow-hidden rounded-t-xl border border-line bg-page shadow-pop outline-none sm:rounded-xl"
    >
      <div className="flex h-14 shrink-0 items-center justify-between border-b border-line pr-2 pl-5">
        <h2 className="font-semibold">{t("settings")}</h2>
        <IconButton label={t("close")} onClick={closePanel}>
          <Close />
        </IconButton>
      </div>
      <div className="flex min-h-0 flex-1 flex-col sm:flex-row">
        <nav
          aria-label={t("settings")}
          className="flex shrink-0 gap-1 overflow-x-auto border-b border-line p-2 sm:w-44 sm:flex-col sm:border-r sm:border-b-0"
        >
          {parts.map((one) => (
            <button
              key={one}
              type="button"
              aria-current={one === part ? "page" : undefined}
              onClick={() => showSettings(one)}
              className={`h-9 rounded-md px-3 text-left text-sm whitespace-nowrap hover:bg-sunk ${one === part ? "bg-sunk font-semibold" : "text-soft"}`}
            >
              {t(`set_${one}`)}
            </button>
          ))}
        </nav>
        <div className="min-h-0 flex-1 space-y-7 overflow-y-auto px-5 py-5" tabIndex={0} aria-label={t(`set_${part}`)}>
          {part === "you" && <You />}
          {part === "look" && <Look />}
          {part === "browsers" && <Browsers />}
          {part === "memory" && <Memories />}
          {part === "usage" && <UsageTables />}
          {part === "keys" && <KeyList />}
        </div>
      </div>
    </Dialog>
  );
}

function You() {
  const t = useTexts();
  const person = useApp((state) => state.person);
  const server = useApp((state) => state.server);
  const client = useApp((state) => state.client);
  const kind = person?.visitor ? "visitor" : person?.person === OPERATOR ? "operator" : "member";
  return (
    <>
      <Group label={t("set_you")}>
        {person?.name && <Fact name={t("name")}>{person.name}</Fact>}
        <Fact name={t("role")}>{t(kind)}</Fact>
        <Fact name="id">
          <span className="font-mono text-xs break-all">{person?.person}</span>
        </Fact>
        <Fact name={t("thisTab")}>
          <span className="font-mono text-xs">{client}</span>
        </Fact>
      </Group>
      <Group label={t("server")}>
        <Fact name={t("address")}>{location.host}</Fact>
        <Fact name={t("version")}>{server || "–"}</Fact>
      </Group>
      <div className="space-y-2">
        <p className="text-sm text-soft">{t("signOutHint")}</p>
        <Button look="bad" onClick={() => void signOut()}>
          {t("signOut")}
        </Button>
      </div>
    </>
  );
}

function Look() {
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

/** The tokens of this person: pages in browsers, and programs that use `/mcp`. */
function Browsers() {
  const t = useTexts();
  const { value, error, again } = useAnswer<KeptToken[]>("/v1/tokens");
  const [address, setAddress] = useState("");
  const mine = keptLogin()?.id;
  const makeCode = () =>
    attempt(async () => {
      const { code } = await http().post<{ code: string }>("/v1/auth/code", undefined);
      setAddress(`${location.origin}/#code=${code}`);
    });
  const revoke = (id: string) =>
    attempt(async () => {
      await http().delete(`/v1/tokens/${id}`);
      again();
    });
  return (
    <>
      <Group label={t("otherDevice")}>
        {address === "" ? (
          <>
            <p className="text-sm text-soft">{t("codeHint")}</p>
            <Button onClick={() => void makeCode()}>
              <Device size={16} /> {t("makeCode")}
            </Button>
          </>
        ) : (
          <>
            <p className="text-sm text-soft">{t("codeMade")}</p>
            <div className="flex gap-2">
              <input
                readOnly
                value={address}
                aria-label={t("address")}
                onFocus={(event) => event.target.select()}
                className="h-9 min-w-0 flex-1 rounded-md border border-line bg-sunk px-2.5 font-mono text-xs"
              />
              <Button onClick={() => void copyText(address).then(() => toast(t("copied")))}>{t("copy")}</Button>
            </div>
          </>
        )}
      </Group>
      <PushSwitch />
      <Group label={t("set_browsers")}>
        {!value && error && <Failed text={t("listFailed")} why={error} again={again} />}
        {!value && !error && <Bone className="h-16 w-full" />}
        {value?.length === 0 && <p className="text-sm text-soft">{t("nothing")}</p>}
        <ul className="divide-y divide-line">
          {value?.map((token) => (
            <li key={token.id} className="flex min-h-13 items-center gap-3 py-1.5">
              <span className="min-w-0 flex-1">
                <span className="block truncate text-sm font-medium">
                  {token.name}
                  {token.id === mine && <span className="font-normal text-accent"> · {t("thisBrowser")}</span>}
                </span>
                <span className="block text-xs text-faint">
                  {t(token.page ? "tokenUntil" : "tokenOfProgram", { day: day(token.expires_at_ms) })}
                </span>
              </span>
              {token.id !== mine && (
                <Button look="quiet" onClick={() => void revoke(token.id)}>
                  {t("revoke")}
                </Button>
              )}
            </li>
          ))}
        </ul>
      </Group>
    </>
  );
}

function day(ms: number): string {
  const { language } = useApp.getState();
  return new Date(ms).toLocaleDateString(language, { year: "numeric", month: "short", day: "numeric" });
}

const GROUPINGS = ["session", "model", "day"] as const;

function UsageTables() {
  const t = useTexts();
  const [by, setBy] = useState<(typeof GROUPINGS)[number]>("session");
  const { value, error, again } = useAnswer<UsageRow[]>("/v1/usage", { by });
  const rows = [...(value ?? [])].sort((a, b) => (by === "day" ? b.key.localeCompare(a.key) : b.cost - a.cost));
  const whole = {
    cost: rows.reduce((cost, row) => cost + row.cost, 0),
    usage: rows.map((row) => row.usage).reduce(addUsage, NO_USAGE),
    isUnpriced: rows.some((row) => unpricedModels(row).length > 0),
  };
  return (
    <>
      <Segments label={t("usage")} value={by} options={GROUPINGS.map((one) => [one, t(`by_${one}`)])} choose={setBy} />
      {!value && error && <Failed text={t("listFailed")} why={error} again={again} />}
      {!value && !error && <Bone className="h-40 w-full" />}
      {value && rows.length === 0 && <p className="text-sm text-soft">{t("noUsage")}</p>}
      {rows.length > 0 && (
        <div className="overflow-x-auto" tabIndex={0}>
          <table className="w-full text-sm tabular-nums">
            <thead>
              <tr className="border-b border-line-strong text-left text-xs text-faint">
                <Head>{t(`by_${by}`)}</Head>
                <Head isNumber isWide>{t("modelCalls")}</Head>
                <Head isNumber isWide>{t("tokensIn")}</Head>
                <Head isNumber isWide>{t("tokensOut")}</Head>
                <Head isNumber>{t("cost")}</Head>
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, 200).map((row) => (
                <tr key={row.key} className="border-b border-line">
                  <td className="max-w-48 truncate py-2 pr-3">
                    {by === "session" ? <SessionLink row={row} /> : row.key}
                  </td>
                  <Cell isWide>{row.calls}</Cell>
                  <Cell isWide>{tokens(row.usage.input_tokens + (row.usage.cache_read_tokens ?? 0))}</Cell>
                  <Cell isWide>{tokens(row.usage.output_tokens)}</Cell>
                  <Cell>
                    <span title={unpricedModels(row).join(", ") || undefined}>
                      {spent(row.cost, row.usage, unpricedModels(row).length > 0)}
                    </span>
                  </Cell>
                </tr>
              ))}
            </tbody>
            <tfoot>
              <tr className="font-semibold">
                <td className="py-2 pr-3">{t("whole")}</td>
                <td className="max-sm:hidden" colSpan={3} />
                <Cell>{spent(whole.cost, whole.usage, whole.isUnpriced)}</Cell>
              </tr>
            </tfoot>
          </table>
        </div>
      )}
    </>
  );
}

function SessionLink({ row }: { row: UsageRow }) {
  const t = useTexts();
  return (
    <button
      type="button"
      className="max-w-full truncate text-left underline decoration-line-strong underline-offset-4 hover:decoration-accent"
      onClick={() => {
        closePanel();
        go(row.key);
      }}
    >
      {row.title || t("untitled")}
    </button>
  );
}

interface CellProps {
  children: ReactNode;
  isNumber?: boolean;
  /** Only a wide window has room for it. */
  isWide?: boolean;
}

function Head({ children, isNumber = false, isWide = false }: CellProps) {
  const look = `${isNumber ? "text-right" : ""} ${isWide ? "max-sm:hidden" : ""}`;
  return (
    <th scope="col" className={`py-2 pr-3 font-semibold whitespace-nowrap ${look}`}>
      {children}
    </th>
  );
}

function Cell({ children, isWide = false }: CellProps) {
  return <td className={`py-2 pr-3 text-right whitespace-nowrap text-soft ${isWide ? "max-sm:hidden" : ""}`}>{children}</td>;
}

function KeyList() {
  const t = useTexts();
  return (
    <section>
      <Label>{t("keys")}</Label>
      <dl className="mt-2 divide-y divide-line">
        {KEYS.map(([keys, does]) => (
          <div key={keys} className="flex min-h-10 items-center justify-between gap-4 text-sm">
            <dt className="min-w-0 text-soft">{t(does)}</dt>
            <dd className="shrink-0">
              <Kbd>{keys}</Kbd>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
