// Looks texts up in the table, in the language of the page.
import { useApp, get, type Language } from "../store/app";
import { LANGUAGES, TABLE, type TextKey } from "./table";

export type { TextKey } from "./table";

type Values = Record<string, string | number>;

/** Returns a text with its values filled in. */
export function textIn(language: Language, key: TextKey, values: Values = {}): string {
  const row = TABLE[key];
  const found: string = row[LANGUAGES.indexOf(language)] ?? row[0];
  return found.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** Returns a text in the language of the page, outside of components. */
export function text(key: TextKey, values?: Values): string {
  return textIn(get().language, key, values);
}

/** Returns the function that looks texts up, in a component. */
export function useTexts(): (key: TextKey, values?: Values) => string {
  const language = useApp((state) => state.language);
  return (key, values) => textIn(language, key, values);
}

/** Returns the language of the browser, if the page has it. */
export function languageOf(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const base = tag.slice(0, 2).toLowerCase();
    const found = LANGUAGES.find((language) => language === base);
    if (found) return found;
  }
  return "en";
}
