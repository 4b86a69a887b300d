import type { Arm, Measure, Phase } from "../../domain/experiment.ts";
import { type ArmTotals, isArmShown } from "../../experiments/arm-totals.ts";
import { combineHalves, type TallyLookup } from "../../experiments/statistics/arm-checks.ts";
import type { FailedWeek } from "../../tables/experiment-invoices.ts";
import { type Html, html } from "../html.ts";
import { formatCount, formatMoneyShort, formatShare } from "../show/number-format.ts";
import { card } from "../show/parts.ts";
import { stateLabel } from "../show/state-labels.ts";
import { table } from "../show/table.ts";
import { formatDay } from "../show/time-format.ts";

const ARM_LABELS: Record<Arm, string> = { dunlin: "Dunlin", merchant: "Your own retries" };
const armLabel = ({ phase, arm }: { phase: Phase; arm: Arm }) =>
  `${ARM_LABELS[arm]}${phase === "calibration" ? " (calibration)" : ""}`;

export interface ArmsView {
  totals: readonly ArmTotals[];
  tallies: TallyLookup;
  /** Whose amounts are shown; none if the arms cannot be compared. */
  currencies: readonly Measure[];
  weeks: readonly FailedWeek[];
  maturityDays: number;
}

/** Amounts in one currency stand beside the counts; several have their own lines. */
export function armsCard({ totals, tallies, currencies, weeks, maturityDays }: ArmsView): Html {
  const shown = totals.filter(isArmShown);
  const single = currencies.length === 1 ? currencies[0]! : null;
  const moneyOf = ({ phase, arm }: ArmTotals, currency: Measure) => combineHalves(tallies, phase, arm, currency);
  const money = (row: ArmTotals, currency: Measure) => {
    const { due, got } = moneyOf(row, currency);
    return html`<td class="num">${formatMoneyShort(due, currency)}</td><td class="num b">${formatMoneyShort(got, currency)}</td><td class="num d">${formatShare(got, due)}</td>`;
  };
  const moneyHeads = html`<th scope="col" class="num">Money failed</th><th scope="col" class="num">Recovered</th><th scope="col" class="num">Share</th>`;
  const rows = shown.map((row) => {
    const { counted, young, customers, recovered } = row;
    return html`<tr><th scope="row" class="a">${armLabel(row)}</th><td class="num">${formatCount(counted + young)}</td><td class="num soft ${single ? "" : "d"}">${formatCount(young)}<span class="only-narrow"> too young</span></td><td class="num">${formatCount(counted)}</td><td class="num">${formatCount(customers)}</td><td class="num ${single ? "" : "b"}">${formatCount(recovered)}</td><td class="num c">${formatShare(recovered, counted)}<span class="only-narrow soft"> of ${formatCount(counted)} invoices</span></td>${single && money(row, single)}</tr>\n`;
  });
  const byCurrency =
    currencies.length > 1 &&
    html`<table class="rows" aria-label="Money"><thead><tr><th scope="col">Counted money</th><th scope="col">Currency</th>${moneyHeads}</tr></thead><tbody>${currencies.flatMap(
      (currency) =>
        shown.map(
          (row) =>
            html`<tr><th scope="row" class="a">${armLabel(row)}</th><td class="c">${currency}</td>${money(row, currency)}</tr>\n`,
        ),
    )}</tbody></table>`;
  return card(
    {
      title: "The arms",
      foot: html`<span>Each invoice is counted once, ${maturityDays} days after it failed, whether it is paid or not. It counts as recovered if it was paid by then, by any means.</span>${weeks.length > 0 && html`<details class="more"><summary>Week by week</summary>${weekTable(weeks)}</details>`}`,
    },
    html`<table class="rows" aria-label="Arms"><thead><tr><th scope="col">Left to</th><th scope="col" class="num">Failed</th><th scope="col" class="num">Too young</th><th scope="col" class="num">Counted</th><th scope="col" class="num">Customers</th><th scope="col" class="num">Recovered</th><th scope="col" class="num">Rate</th>${single && moneyHeads}</tr></thead><tbody>${rows}</tbody></table>${byCurrency}`,
  );
}

/** By the week in which invoices failed. */
function weekTable(weeks: readonly FailedWeek[]): Html {
  const rows = [...Map.groupBy(weeks, ({ week }) => week)].map(([week, arms]) => ({
    week,
    young: arms.reduce((sum, { failed, counted }) => sum + failed - counted, 0),
    of: (arm: Arm) => arms.find((each) => each.arm === arm) ?? { failed: 0, counted: 0, recovered: 0 },
  }));
  const rate = (arm: Arm, words: string) => ({
    head: `Recovered, ${words}`,
    cell: ({ of }: (typeof rows)[number]) =>
      of(arm).counted === 0
        ? html`<span class="soft">–</span>`
        : html`${formatShare(of(arm).recovered, of(arm).counted)} <small>${formatCount(of(arm).recovered)} of ${formatCount(of(arm).counted)}</small>`,
    numeric: true,
  });
  return html`<p>By the week in which invoices failed</p>${table(
    "Weeks",
    [
      { head: "Week of", cell: ({ week }) => formatDay(week) },
      { head: "Failed", cell: ({ of }) => formatCount(of("dunlin").failed + of("merchant").failed), numeric: true },
      rate("dunlin", "Dunlin"),
      rate("merchant", "your own"),
      {
        head: "",
        cell: ({ young }) =>
          young > 0
            ? stateLabel(`incomplete: ${formatCount(young)} too young`, "warn")
            : html`<span class="soft">all counted</span>`,
      },
    ],
    rows,
  )}`;
}
