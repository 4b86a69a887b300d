import type { LoggedLine } from "./service-fleet.ts";

/** Formats a row of a campaign's table: a name, and counts with their names. */
export const formatRow = (name: string, ...cells: [number | undefined, string][]): string =>
  `  ${name.padEnd(10)}${cells.map(([count, what]) => `${String(count ?? 0).padStart(8)} ${what}`).join("")}`;

/** Formats the rows about events that campaigns have in common. */
export function formatEvents(counts: Readonly<Record<string, number>>): string[] {
  const { delivered = 0, exhausted = 0, withdrawn = 0, waiting = 0 } = counts;
  const all = delivered + exhausted + withdrawn + waiting;
  return [
    formatRow("events", [all, "all"], [delivered, "delivered"], [exhausted, "exhausted"]),
    formatRow("", [withdrawn, "withdrawn"], [waiting, "waiting"]),
    formatRow("attempts", [counts.attempts, "logged"], [counts.requests, "requests"]),
    formatRow("", [counts.cutShort, "requests cut short by a fault and made again"]),
    formatRow("", [counts.afterSuccess, "after a recorded 2xx, by one that had slept or was cut off"]),
  ];
}

/** Formats how often each warning was logged. */
export function formatLog(lines: readonly LoggedLine[]): string {
  const names = Map.groupBy(lines, ({ level, name }) => `${level} ${name}`);
  const counts = [...names].sort().map(([name, all]) => ` ${all.length} ${name}`);
  return `  log       ${counts.join(",")}`;
}

/** The most lines of one name, and of all of them. */
const SHOWN_MAX = { ofName: 5, all: 15 };
/** Log lines about an unreachable database are expected. */
const rankLine = ({ text }: LoggedLine) => (/request\.failed|crashed|unstorable|"fatal"/.test(text) ? 0 : 1);

/** Formats the most telling errors that the service logged. */
export function formatComplaints(lines: readonly LoggedLine[]): string[] {
  const errors = lines.filter(({ level }) => level !== "warn");
  const shown = [...Map.groupBy(errors, ({ name }) => name).values()].flatMap((all) => all.slice(0, SHOWN_MAX.ofName));
  const worst = shown.sort((a, b) => rankLine(a) - rankLine(b)).slice(0, SHOWN_MAX.all);
  return ["", "Errors in the service's log:", ...worst.map(({ text }) => `  ${text}`)];
}
