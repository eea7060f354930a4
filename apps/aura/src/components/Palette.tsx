// The command palette: everything that can be done, and every session, by a few letters.
import { useEffect, useMemo, useRef, useState } from "react";
import { useCommands, type PageCommand } from "../hooks/commands";
import { closePanel } from "../store/app";
import { useTexts } from "../texts";
import { Dialog } from "./Dialog";
import { Search } from "./icons";

const MOST = 50;

export function Palette() {
  const t = useTexts();
  const commands = useCommands();
  const [query, setQuery] = useState("");
  const [chosen, setChosen] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const shown = useMemo(() => found(commands, query).slice(0, MOST), [commands, query]);
  const at = Math.min(chosen, shown.length - 1);

  useEffect(() => {
    // Newer browsers return a promise, which must not become the effect's cleanup.
    void list.current?.children[at]?.scrollIntoView({ block: "nearest" });
  }, [at]);

  const run = (command: PageCommand | undefined) => {
    if (!command) return;
    closePanel();
    command.run();
  };
  const pressed = (event: React.KeyboardEvent) => {
    if (event.key === "ArrowDown") setChosen(Math.min(at + 1, shown.length - 1));
    else if (event.key === "ArrowUp") setChosen(Math.max(at - 1, 0));
    else if (event.key === "Enter") run(shown[at]);
    else if (event.key === "Escape") closePanel();
    else return;
    event.preventDefault();
  };

  return (
    <Dialog
      label={t("commands")}
      around="z-30 px-3 pt-[12vh]"
      initial={{ y: -8, scale: 0.985 }}
      animate={{ y: 0, scale: 1 }}
      transition={{ duration: 0.14 }}
      onKeyDown={pressed}
      className="mx-auto max-w-xl overflow-hidden rounded-xl border border-line bg-raised shadow-pop outline-none"
    >
      <label className="flex h-13 items-center gap-3 border-b border-line px-4 text-faint">
        <Search />
        <input
          autoFocus
          role="combobox"
          aria-expanded="true"
          aria-controls="commands"
          aria-activedescendant={shown[at] ? `command-${shown[at].id}` : undefined}
          value={query}
          onChange={(event) => {
            setQuery(event.target.value);
            setChosen(0);
          }}
          placeholder={t("typeCommand")}
          aria-label={t("typeCommand")}
          className="min-w-0 flex-1 bg-transparent text-ink outline-none placeholder:text-faint"
        />
      </label>
      <ul ref={list} id="commands" role="listbox" aria-label={t("commands")} className="max-h-[50vh] overflow-y-auto p-1.5">
        {shown.map((command, index) => (
          <li
            key={command.id}
            id={`command-${command.id}`}
            role="option"
            aria-selected={index === at}
            onMouseMove={() => setChosen(index)}
            onClick={() => run(command)}
            className={`flex h-10 cursor-pointer items-center gap-3 rounded-md px-3 text-sm ${index === at ? "bg-sunk" : ""}`}
          >
            <span className="min-w-0 flex-1 truncate">{command.name}</span>
            {command.hint && <span className="text-xs text-faint">{command.hint}</span>}
          </li>
        ))}
        {shown.length === 0 && <li className="px-3 py-6 text-center text-sm text-soft">{t("noMatches")}</li>}
      </ul>
    </Dialog>
  );
}

function found(commands: PageCommand[], query: string): PageCommand[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return commands.filter((command) => {
    const text = `${command.name} ${command.id}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
