import { tenths } from "../../src/decisions/shares.ts";
import { escaped, listHtml, pageHtml, tableHtml } from "../../src/report/page.ts";
import { type Bar, barPlot, dotPlot, type Ink, linePlot } from "../../src/report/plots.ts";
import type { Comparison } from "./compare.ts";
import type { Figures } from "./figures.ts";
import { behind, type Picture } from "./picture.ts";
import { COLUMNS, closedWords, LEGEND, rowsOf, worldWords } from "./words.ts";

/** What stands out of the others, wherever it is drawn. */
const INKS: Readonly<Record<string, Ink>> = { warm: "first", told: "first", cold: "second", even: "third" };
const inkOf = (name: string): Ink => INKS[name] ?? "other";
/** What luck does in 95 of 100 runs, in deviations. */
const LUCK = 1.96;

/**
 * A comparison as a report on one page: what each policy recovered, its tries, what it left that the oracle would not have left, and how true its chances were.
 *
 * @param pictures  of each policy of the comparison
 */
export function reportHtml(comparison: Comparison, pictures: ReadonlyMap<string, Picture>): string {
  const { world, policies } = comparison;
  const figures = Object.entries(policies);
  const body = `${closedWords(comparison)
    .map((words) => `<p>${escaped(words)}</p>`)
    .join("\n")}
${tableHtml("policies", COLUMNS, rowsOf(comparison))}
${listHtml(LEGEND)}
<h2>Recovered money</h2>
${barPlot("Share of the money that failed which was recovered, and (dark) what of it is left after waiting and tries", figures.map(recoveredBar))}
<h2>Tries</h2>
${barPlot("Tries for each payment that was recovered", figures.flatMap(triesBar))}
<h2>Regret</h2>
${regretPlot(pictures)}
<h2>Calibration</h2>
${calibrationPlot(pictures)}`;
  return pageHtml(`Ways of trying again in the world "${world}"`, worldWords(comparison), body);
}

const recoveredBar = ([name, { recovered, value }]: [string, Figures]): Bar => ({
  words: name,
  size: recovered,
  note: `${tenths(recovered)}; ${tenths(value)} after waiting and tries`,
  inner: Math.max(0, value),
});

const triesBar = ([name, { attemptsPerRecovery: tries }]: [string, Figures]): Bar[] =>
  tries === null ? [] : [{ words: name, size: tries, note: tries.toFixed(2), inner: tries }];

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const wholePercent = (share: number) => `${Math.round(share * 100)}%`;
const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

function regretPlot(pictures: ReadonlyMap<string, Picture>): string {
  const oracle = pictures.get("oracle")!;
  const lines = [...pictures]
    .filter(([name]) => name !== "oracle")
    .map(([name, picture]) => ({
      name,
      ink: inkOf(name),
      points: behind(picture, oracle).map(({ payments, dollars }) => ({ x: payments, y: dollars })),
    }));
  // Those that stand out are drawn over the others.
  const ordered = lines.sort((a, b) => Number(a.ink !== "other") - Number(b.ink !== "other"));
  return linePlot(
    "Value that the oracle came to and the policy did not, added up from the first failed payment on",
    ordered,
    {
      across: "failed payments",
      acrossOf: whole.format,
      up: "US dollars",
      upOf: short.format,
    },
  );
}

function calibrationPlot(pictures: ReadonlyMap<string, Picture>): string {
  const series = ["warm", "cold"].flatMap((name) => {
    const bins = pictures.get(name)?.bins ?? [];
    const tries = bins.reduce((sum, bin) => sum + bin.tries, 0);
    const points = bins.map(({ said, came, deviation, tries: of }) => ({
      said,
      came,
      luck: LUCK * deviation,
      share: of / tries,
    }));
    return points.length > 0 ? [{ name, ink: inkOf(name), points }] : [];
  });
  const title =
    "Chances that Dunlin said before its tries, by tenths, and the share that came true; a dot is the larger the more tries it stands for, and its line is where luck alone puts it in 95 of 100 runs";
  return series.length === 0
    ? "<p>Dunlin made no try.</p>"
    : dotPlot(title, series, { across: "said", acrossOf: wholePercent, up: "came true", upOf: wholePercent });
}
