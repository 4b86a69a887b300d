import { ASSUMPTIONS, BACKUP_BYTES_PER_SECOND, COMPARISONS, COSTS, LIFE, PAGES } from "./measured.ts";
import { type Cost, recordsForOpenCases, type SizedRow, size } from "./sizing.ts";

const RECORDS_PER_SECOND = [1, 10, 100, 1_000, 10_000, 100_000];
const OPEN_CASES = 1e9;
const DAY_SECONDS = 86_400;

/** Three digits at most, because no input has more than two. */
function inShort(value: number): string {
  const units: readonly (readonly [number, string])[] = [
    [1e9, " billion"],
    [1e6, " million"],
  ];
  for (const [unit, name] of units) if (value >= 0.995 * unit) return `${twoDigits(value / unit)}${name}`;
  return twoDigits(value);
}

const twoDigits = (value: number) =>
  value === 0 ? "0" : Number(value.toPrecision(2)).toLocaleString("en", { maximumFractionDigits: 3 });

function inBytes(value: number): string {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, value)) / 3));
  return `${twoDigits(value / 1_000 ** power)} ${units[power]}`;
}

const range = ([low, high]: readonly [number, number], show = twoDigits) =>
  show(low) === show(high) ? show(low) : `${show(low)} to ${show(high)}`;
const percent = (share: number) => `${twoDigits(100 * share)}%`;
const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [row(head), `|${"---|".repeat(head.length)}`, ...rows.map(row)].join("\n");

function costsTable() {
  const names: readonly (readonly [string, Cost])[] = [
    ["paid invoice, in requests of 200", COSTS.paidInvoice],
    ["unpaid invoice, which opens a case", COSTS.unpaidInvoice],
    ["payment attempt", COSTS.attempt],
    ["decision, in a batch of 100 cases", COSTS.decision],
    ["decision, alone in its batch", COSTS.loneDecision],
    ["step without a new decision, in a batch of 100", COSTS.step],
    ["webhook delivered", COSTS.delivery],
    ["outcome learned", COSTS.learned],
    ["list page with 100 actions", PAGES.list],
    ["console page", PAGES.console],
  ];
  return table(
    ["Unit", "Service CPU, ms", "Database CPU, ms", "WAL, bytes", "Disk, bytes"],
    names.map(([name, { serviceMs, databaseMs, walBytes, diskBytes }]) => [
      name,
      twoDigits(serviceMs),
      twoDigits(databaseMs),
      walBytes === 0 ? "–" : twoDigits(walBytes),
      diskBytes === 0 ? "–" : twoDigits(diskBytes),
    ]),
  );
}

function sizesTable() {
  const billion = recordsForOpenCases(OPEN_CASES, COSTS, LIFE, ASSUMPTIONS);
  const rows = [...RECORDS_PER_SECOND, billion]
    .sort((a, b) => a - b)
    .map((recordsPerSecond) => size(recordsPerSecond, COSTS, LIFE, ASSUMPTIONS));
  return table(
    [
      "Records/s",
      "Failed a month",
      "Open cases",
      "Service cores",
      "Database cores",
      "WAL, MB/s",
      "Disk",
      "Indexes of open cases",
      "Connections",
      "Servers",
      "Nearest limit",
      "Beyond measured",
    ],
    rows.map((each) => [
      inShort(each.recordsPerSecond),
      inShort(each.failedPerMonth),
      inShort(each.openCases),
      range(serviceCores(each)),
      range(each.databaseCores),
      range([each.walBytesPerSecond / 1e6, (each.walBytesPerSecond * ASSUMPTIONS.fullPageFactor) / 1e6]),
      inBytes(each.diskBytes),
      inBytes(each.indexBytes),
      each.connections.toLocaleString("en"),
      each.workers === null ? "1" : `${inShort(each.workers)} workers`,
      `${each.first.name}, ${percent(each.first.share)}`,
      beyond(each),
    ]),
  );
}

const serviceCores = ({ apiCores, decideCores, deliverCores, learnCores, idleCores }: SizedRow) => {
  const others = apiCores + deliverCores + learnCores + idleCores;
  return [others + decideCores[0], others + decideCores[1]] as const;
};

const beyond = ({ beyond: { cpu, data } }: SizedRow) =>
  cpu <= 1 && data <= 1 ? "no" : `${cpu <= 1 ? "" : `CPU × ${inShort(cpu)}, `}data × ${inShort(data)}`;

function billionTable() {
  const given = size(recordsForOpenCases(OPEN_CASES, COSTS, LIFE, ASSUMPTIONS), COSTS, LIFE, ASSUMPTIONS);
  const stepsPerDay = (given.openCases / LIFE.openDays) * LIFE.steps;
  return table(
    ["At a billion open cases", "Amount"],
    [
      ["records per second at the peak", inShort(given.recordsPerSecond)],
      ["steps a day", `${inShort(stepsPerDay)}, ${inShort(stepsPerDay / DAY_SECONDS)} a second on average`],
      ["dead rows a day in `due_cases` alone", inShort(stepsPerDay)],
      ["rows and indexes of open cases", inBytes(given.openCases * (LIFE.open.heapBytes + LIFE.open.indexBytes))],
      ["of these, indexes", inBytes(given.indexBytes)],
      ["disk, with everything kept 450 days", inBytes(given.diskBytes)],
      ["a backup by `npx dunlin backup`", `${twoDigits(given.diskBytes / BACKUP_BYTES_PER_SECOND / DAY_SECONDS)} days`],
    ],
  );
}

function comparisonTable() {
  const pair = (measured: number | null, predicted: number | null, show: (value: number) => string) =>
    measured === null || predicted === null ? "–" : `${show(measured)}, ${show(predicted)}`;
  const whole = (value: number) => Math.round(value).toLocaleString("en");
  const busy = (value: number) => value.toFixed(2);
  return table(
    [
      "Run: measured, predicted",
      "Cases/s",
      "Decider's cores",
      "Database's cores",
      "Decided p50, ms",
      "p95",
      "Sent p50, ms",
      "p95",
    ],
    COMPARISONS.map(({ what, measured, predicted }) => [
      what,
      pair(measured.perSecond, predicted.perSecond, whole),
      pair(measured.deciderBusy, predicted.deciderBusy, busy),
      pair(measured.databaseBusy, predicted.databaseBusy, busy),
      pair(measured.decisionP50, predicted.decisionP50, whole),
      pair(measured.decisionP95, predicted.decisionP95, whole),
      pair(measured.deliveryP50, predicted.deliveryP50, whole),
      pair(measured.deliveryP95, predicted.deliveryP95, whole),
    ]),
  );
}

/** The guide with its tables replaced by those from the arithmetic, found by their heads. */
export function withTables(guide: string): string {
  return [costsTable(), sizesTable(), billionTable(), comparisonTable()].reduce((text, made) => {
    const lines = text.split("\n");
    const first = made.split("|")[1]!;
    const from = lines.findIndex((line) => line.startsWith(`|${first}|`));
    if (from < 0) throw new Error(`the guide has no table that begins with "${first.trim()}"`);
    const length = lines.slice(from).findIndex((line) => !line.startsWith("|"));
    lines.splice(from, length, ...made.split("\n"));
    return lines.join("\n");
  }, guide);
}
