// The model and the approval mode of a session, for those who drive it.
import type { ListedModel, SessionState } from "../connection/http";
import { useAnswer } from "../hooks/answer";
import { useWheel } from "../hooks/session";
import { command } from "../hooks/wiring";
import { useApp, type OpenSession } from "../store/app";
import { useTexts } from "../texts";
import { MODES, modeOf, stepsTo, type Mode } from "./modes";
import { Fact, FIELD, Group, Segments } from "./parts";

type Config = SessionState["config"];

export function AgentChoices({ open, config, again }: { open: OpenSession; config: Config | null; again: () => void }) {
  const t = useTexts();
  const { isMine, isFree, mayDrive } = useWheel(open);
  const isOnline = useApp((app) => app.connection === "online");
  const mayChange = isOnline && mayDrive && (isMine || isFree) && config !== null;
  const change = async (value: Record<string, unknown>) => {
    await command(open.id, "change", { change: value });
    again();
  };
  const chooseMode = async (mode: Mode) => {
    for (const value of stepsTo(mode, config)) {
      // The server may refuse a mode: then the one before stays.
      if ((await command(open.id, "change", { change: value })) === null) break;
    }
    again();
  };
  const modes = MODES.map((one) => [one, t(`mode_${one}`)] as const);
  const mode = modeOf(config);
  return (
    <Group label={t("agent")}>
      {mayChange ? (
        <label className="block">
          <span className="text-sm text-faint">{t("model")}</span>
          <ModelSelect
            value={config.model.id}
            provider={config.model.provider}
            choose={(model) => void change({ model: model.spec })}
          />
        </label>
      ) : (
        <Fact name={t("model")}>{config?.model.id ?? open.now.model}</Fact>
      )}
      <p className="pt-1 text-sm text-faint">{t("approvalMode")}</p>
      <Segments
        label={t("approvalMode")}
        value={mode}
        options={modes}
        isDisabled={!mayChange}
        choose={(mode) => void chooseMode(mode)}
      />
      {mode && <p className="text-xs text-faint">{t(`mode_${mode}_hint`)}</p>}
    </Group>
  );
}

interface ModelSelectProps {
  value: string;
  provider: string;
  choose: (model: ListedModel) => void;
}

/** The models of the server; those that cannot be called say why. */
export function ModelSelect({ value, provider, choose }: ModelSelectProps) {
  const t = useTexts();
  const { value: models } = useAnswer<ListedModel[]>("/v1/models");
  const known = models ?? [];
  const chosen = known.findIndex(({ spec }) => spec.id === value && spec.provider === provider);
  return (
    <select
      className={`${FIELD} mt-1 w-full`}
      aria-label={t("model")}
      value={chosen}
      onChange={(event) => {
        const model = known[Number(event.target.value)];
        if (model) choose(model);
      }}
    >
      {chosen < 0 && <option value={-1}>{value}</option>}
      {known.map(({ spec, missing }, at) => (
        <option key={`${spec.provider} ${spec.id}`} value={at} disabled={Boolean(missing)} title={missing ?? undefined}>
          {spec.id}
          {missing ? ` – ${t("unavailable")}` : ""}
        </option>
      ))}
    </select>
  );
}
