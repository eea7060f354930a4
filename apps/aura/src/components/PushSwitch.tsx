// Turns messages of the server on and off in this browser: they say that a question waits while the page is closed.
import { usePush } from "../hooks/push";
import { useTexts } from "../texts";
import { Bell } from "./icons";
import { Bone, Button, Group } from "./parts";

export function PushSwitch() {
  const t = useTexts();
  const { state, isBusy, turnOn, turnOff } = usePush();
  return (
    <Group label={t("push")}>
      <p className="text-sm text-soft">{t("pushHint")}</p>
      {state === null && <Bone className="h-9 w-40" />}
      {(state === "unsupported" || state === "denied") && (
        <p className="text-sm" role="status">
          {t(state === "denied" ? "pushDenied" : "pushUnsupported")}
        </p>
      )}
      {state === "off" && (
        <Button disabled={isBusy} onClick={turnOn}>
          <Bell size={16} /> {t("pushOn")}
        </Button>
      )}
      {state === "on" && (
        <div className="flex flex-wrap items-center gap-3">
          <span className="text-sm font-medium text-accent" role="status">
            {t("pushIsOn")}
          </span>
          <Button look="quiet" disabled={isBusy} onClick={turnOff}>
            {t("pushOff")}
          </Button>
        </div>
      )}
    </Group>
  );
}
