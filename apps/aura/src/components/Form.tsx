// A form that a person fills in for an MCP server.
import { useId, useState } from "react";
import { useTexts } from "../texts";
import { formAnswer, formFields, type FormField, type FormValue } from "./form";
import { Button, FIELD } from "./parts";

interface FormProps {
  schema: unknown;
  isDisabled: boolean;
  /** Gives the answer as JSON, or `null` for no answer. */
  reply: (answer: string | null) => void;
}

export function Form({ schema, isDisabled, reply }: FormProps) {
  const t = useTexts();
  const fields = formFields(schema);
  const [values, setValues] = useState<Record<string, FormValue>>({});
  const answer = formAnswer(fields, values);
  return (
    <form
      className="space-y-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (answer) reply(JSON.stringify(answer));
      }}
    >
      <div className="max-h-[36vh] space-y-3 overflow-y-auto px-0.5 pb-0.5">
        {fields.map((field) => (
          <Field
            key={field.name}
            field={field}
            value={values[field.name] ?? field.initial}
            change={(value) => setValues({ ...values, [field.name]: value })}
          />
        ))}
      </div>
      <div className="flex flex-wrap gap-2">
        <Button type="submit" look="main" disabled={isDisabled || answer === null}>
          {t(fields.length > 0 ? "answer" : "confirm")}
        </Button>
        <Button look="quiet" disabled={isDisabled} onClick={() => reply(null)}>
          {t("noAnswer")}
        </Button>
      </div>
    </form>
  );
}

interface FieldProps {
  field: FormField;
  value: FormValue;
  change: (value: FormValue) => void;
}

function Field({ field, value, change }: FieldProps) {
  const id = useId();
  const hint = field.hint ? `${id}-hint` : undefined;
  if (field.kind === "yes_no") {
    return (
      <label className="flex min-h-9 items-center gap-2.5 text-sm">
        <input
          type="checkbox"
          className="size-4 accent-(--accent)"
          checked={value === true}
          onChange={(event) => change(event.target.checked)}
        />
        <span>{field.label}</span>
        {field.hint && <span className="text-xs text-faint">{field.hint}</span>}
      </label>
    );
  }
  return (
    <div>
      <label htmlFor={id} className="block text-sm">
        {field.label}
        {field.isRequired && <span className="text-bad" aria-hidden="true"> *</span>}
      </label>
      {field.hint && <p id={hint} className="text-xs text-faint">{field.hint}</p>}
      <Control id={id} hint={hint} field={field} value={value} change={change} />
    </div>
  );
}

function Control({ id, hint, field, value, change }: FieldProps & { id: string; hint: string | undefined }) {
  const common = { id, "aria-describedby": hint, "aria-required": field.isRequired };
  if (field.kind === "choice" || field.kind === "choices") {
    const isMany = field.kind === "choices";
    return (
      <select
        {...common}
        multiple={isMany}
        className={`${FIELD} mt-1 w-full ${isMany ? "h-24 py-1" : ""}`}
        value={value as string | string[]}
        onChange={({ target }) => change(isMany ? [...target.selectedOptions].map((one) => one.value) : target.value)}
      >
        {!isMany && <option value="" />}
        {field.choices.map((one) => (
          <option key={one.value} value={one.value}>
            {one.label}
          </option>
        ))}
      </select>
    );
  }
  return (
    <input
      {...common}
      type={field.input}
      step={field.kind === "number" ? "any" : undefined}
      className={`${FIELD} mt-1 w-full`}
      value={String(value)}
      onChange={(event) => change(event.target.value)}
    />
  );
}
