// Settings of the page that this browser keeps: theme and language.
import { set, type Language, type Theme } from "../store/app";
import { languageOf } from "../texts";
import { LANGUAGES } from "../texts/table";

const THEME = "aura.theme";
const LANGUAGE = "aura.language";

const dark = matchMedia("(prefers-color-scheme: dark)");

export function applySettings(): void {
  const theme = localStorage.getItem(THEME) as Theme | null;
  const language = localStorage.getItem(LANGUAGE) as Language | null;
  setTheme(theme ?? "system");
  setLanguage(LANGUAGES.find((known) => known === language) ?? languageOf(navigator.languages));
  dark.addEventListener("change", () => paint((localStorage.getItem(THEME) as Theme | null) ?? "system"));
}

export function setTheme(theme: Theme): void {
  localStorage.setItem(THEME, theme);
  set({ theme });
  paint(theme);
}

export function setLanguage(language: Language): void {
  localStorage.setItem(LANGUAGE, language);
  document.documentElement.lang = language;
  set({ language });
}

function paint(theme: Theme): void {
  const isDark = theme === "dark" || (theme === "system" && dark.matches);
  document.documentElement.classList.toggle("dark", isDark);
}
