// The form that an MCP server asks a person to fill in: a flat JSON Schema of texts, numbers, choices and yes or no.

export interface FormField {
  name: string;
  label: string;
  hint: string;
  kind: "text" | "number" | "whole" | "yes_no" | "choice" | "choices";
  /** The type of an input element: `email`, `url`, `date`, … */
  input: string;
  choices: { value: string; label: string }[];
  isRequired: boolean;
  initial: FormValue;
}

export type FormValue = string | boolean | string[];

type Schema = Record<string, unknown>;

const INPUTS: Record<string, string> = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };

/** Returns the fields of a form, in its order; none if it is of another kind. */
export function formFields(schema: unknown): FormField[] {
  const { properties, required } = asSchema(schema);
  const needed = Array.isArray(required) ? required : [];
  return Object.entries(asSchema(properties)).map(([name, value]) => field(name, asSchema(value), needed.includes(name)));
}

function asSchema(value: unknown): Schema {
  return typeof value === "object" && value !== null ? (value as Schema) : {};
}

function field(name: string, schema: Schema, isRequired: boolean): FormField {
  const { type, title, description, format, items } = schema;
  const isList = type === "array";
  const choices = choicesOf(isList ? asSchema(items) : schema);
  const kind =
    type === "boolean" ? "yes_no" : isList ? "choices" : choices.length > 0 ? "choice" : type === "integer" ? "whole" : type === "number" ? "number" : "text";
  return {
    name,
    label: typeof title === "string" ? title : name,
    hint: typeof description === "string" ? description : "",
    kind,
    input: kind === "whole" || kind === "number" ? "number" : (INPUTS[String(format)] ?? "text"),
    choices,
    isRequired,
    initial: initialOf(schema.default, kind),
  };
}

function choicesOf(schema: Schema): FormField["choices"] {
  const titled = [schema.oneOf, schema.anyOf].find(Array.isArray) as Schema[] | undefined;
  if (titled) return titled.map((one) => ({ value: String(one.const), label: String(one.title ?? one.const) }));
  const values = Array.isArray(schema.enum) ? schema.enum : [];
  const names = Array.isArray(schema.enumNames) ? schema.enumNames : [];
  return values.map((value, at) => ({ value: String(value), label: String(names[at] ?? value) }));
}

function initialOf(value: unknown, kind: FormField["kind"]): FormValue {
  if (kind === "yes_no") return value === true;
  if (kind === "choices") return Array.isArray(value) ? value.map(String) : [];
  return value === undefined || value === null ? "" : String(value);
}

/** Returns the answer to a form as the server takes it; `null` while a field that is needed has no value. */
export function formAnswer(fields: FormField[], values: Record<string, FormValue>): Record<string, unknown> | null {
  const answer: Record<string, unknown> = {};
  for (const { name, kind, isRequired, initial } of fields) {
    const value = values[name] ?? initial;
    if (kind === "yes_no" || kind === "choices") answer[name] = value;
    else if (value !== "") answer[name] = kind === "whole" || kind === "number" ? Number(value) : value;
    else if (isRequired) return null;
  }
  return answer;
}
