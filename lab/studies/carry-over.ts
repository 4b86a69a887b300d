// `npm run lab -- carry-over`: how the engine does at small merchants, in windows of 3 to 28 days and in worlds whose mechanism no
// pretrained model knows. `--report FILE` draws it.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { escapeHtml, pageHtml, tableHtml } from "../../src/report/html-page.ts";
import { drawLinePlot, type SeriesColor } from "../../src/report/plots.ts";
import { type Cell, measureCarryOver } from "../trial/carry-over.ts";
import { trainInWorlds } from "../trial/train-pretrained-model.ts";

const { values } = parseArgs({
  options: {
    worlds: { type: "string", default: "balances,issuers,debits,business,consumers,varied" },
    windows: { type: "string", default: "3,5,7,10,14,28" },
    merchants: { type: "string", default: "24" },
    // About 60 failures a month.
    customers: { type: "string", default: "460" },
    explorations: { type: "string", default: "3" },
    training: { type: "string", default: "6000" },
    report: { type: "string" },
  },
});

const COLORS: Readonly<Record<string, SeriesColor>> = { warm: "first", cold: "second" };
const points = (share: number) => `${share >= 0 ? "+" : "−"}${Math.abs(100 * share).toFixed(2)}`;
const describe = ({ mean, error }: Cell["ahead"][string]) => `${points(mean)} ± ${(100 * error).toFixed(2)}`;
const HEAD = [
  "world",
  "window, days",
  "cases",
  "six even retries",
  ...Object.keys(COLORS),
  "oracle",
  "calibration error",
  "broken rules",
];
const rowOf = ({ world, windowDays, cases, even, ahead, ece, brokenRules }: Cell) => [
  world,
  String(windowDays),
  cases.toFixed(0),
  `${(100 * even).toFixed(1)}%`,
  ...[...Object.keys(COLORS), "oracle"].map((policy) => describe(ahead[policy]!)),
  ece.warm!.toFixed(3),
  String(brokenRules),
];

console.log("Training without each family…");
const trained = trainInWorlds(Number(values.training), () => {});
console.log(
  `Points of value ahead of six even retries, mean of ${values.merchants} merchants ± its standard error.\n${HEAD.join(" | ")}`,
);
const windows = values.windows.split(",").map(Number);
const cells = await measureCarryOver({
  worlds: values.worlds.split(","),
  windows,
  merchants: Number(values.merchants),
  customers: Number(values.customers),
  explorations: Number(values.explorations),
  priorWithout: trained.pool,
  onCell: (cell) => console.log(rowOf(cell).join(" | ")),
});
if (values.report !== undefined) writeFileSync(values.report, renderReport());

function renderReport(): string {
  const plots = [...Map.groupBy(cells, ({ world }) => world)].map(([world, ofWorld]) =>
    drawLinePlot(
      `${world}: points of value ahead of six even retries, by window`,
      [...Object.keys(COLORS)].reverse().map((policy) => ({
        name: policy,
        color: COLORS[policy]!,
        points: ofWorld.map(({ windowDays, ahead }) => ({ x: windowDays, y: 100 * ahead[policy]!.mean })),
      })),
      { xLabel: "recovery window, days", formatX: String, yLabel: "points", formatY: (value) => value.toFixed(1) },
    ),
  );
  const lead = `${values.merchants} merchants of ${values.customers} customers each, a year, ${values.explorations} samples of exploration. Each pretrained model was trained without the judged family.`;
  return pageHtml(
    "Engine and unfamiliar mechanisms",
    escapeHtml(lead),
    `${tableHtml("cells", HEAD, cells.map(rowOf))}\n${plots.join("\n")}`,
  );
}
