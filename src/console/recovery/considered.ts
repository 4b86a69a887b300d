import { isToEnd } from "../../decisions/account.ts";
import { besideEven } from "../../decisions/outlook.ts";
import { percent } from "../../decisions/shares.ts";
import type { Account, DecisionRecord, HourProspect, Prospect } from "../../domain/decision.ts";
import { DAY_MS, HOUR_MS } from "../../domain/durations.ts";
import { triesWords } from "../../recovery/explained-even.ts";
import type { Instrument } from "../../rules/instrument.ts";
import { type Html, html } from "../html.ts";
import { dayText, localField, moment, momentText } from "../show/moments.ts";
import { momentsPlot } from "../show/moments-plot.ts";
import { table } from "../show/table.ts";

/** Whether the moments of an account can be read: it lies in the database as JSON, which has none. */
export const isReadable = ({ account: { days, hours, ruledOut, even } }: DecisionRecord) =>
  [
    ...[...days, ...hours].map(({ at }) => at),
    ...ruledOut.flatMap(({ from, to }) => [from, to]),
    ...(even?.tries ?? []),
    ...(even?.plan ?? []),
  ].every((at) => !Number.isNaN(at.getTime()));

/** Whether other moments were compared: only what was learned can do that. */
export const hasConsidered = (decision: DecisionRecord) =>
  decision.account.days.length > 0 && decision.idealTime !== null && decision.chance !== null && isReadable(decision);

/** All moments that were thought of for a try: a plot, the same in words, and as a table. */
export function considered(decision: DecisionRecord, windowEndsAt: Date, zone: string, paidBy: Instrument): Html {
  const { account, madeAt, idealTime } = decision;
  const { days, hours, ruledOut, even } = account;
  const chosen = chosenOf(decision);
  const others = days.filter((each) => !isMomentOf(each, idealTime!));
  const moments = [...others, chosen].sort((a, b) => +a.at - +b.at);
  const to = new Date(Math.max(+windowEndsAt, ...days.map(({ at }) => +at)) + DAY_MS / 2);
  const day = (at: Date) => dayText(localField(at, zone).slice(0, 10)).slice(0, -5);
  const says = summary(decision, others, zone, paidBy);
  const plot = momentsPlot(
    says.join(" "),
    {
      from: madeAt,
      to,
      moments: moments.map((each) => ({
        ...each,
        isChosen: each === chosen,
        words: `${momentText(each.at, zone)}: a chance of ${percent(each.chance)}`,
      })),
      ruledOut: ruledOut.map(({ rule, from, to }) => ({ from, to, words: rule })),
      rows:
        even === null
          ? []
          : [
              { label: "this plan", moments: even.plan },
              { label: "even tries", moments: even.tries },
            ],
    },
    day,
  );
  return html`<figure class="chart considered"><figcaption><span class="key dot"></span> the best compared moment of a day, by the chance of success <span class="key dot chosen"></span> chosen${ruledOut.length > 0 && html` <span class="key ruled"></span> a rule forbids it`}</figcaption>${plot}</figure>
<p class="text">${says.join(" ")}</p>
${ruledOut.length > 0 && html`<ul>${ruledOut.map((ruled) => html`<li>No try from ${moment(ruled.from, zone)} to ${isToEnd(ruled, windowEndsAt) ? "the end of the window" : moment(ruled.to, zone)}: ${ruled.rule} <small>${ruled.source}</small></li>`)}</ul>`}
<details class="more"><summary>The numbers</summary>${table(
    "Moments that were considered",
    [
      { head: "Moment", cell: ({ at }: Row) => moment(at, zone) },
      { head: "Chance", cell: ({ chance }) => percent(chance), numeric: true },
      {
        head: "Worth, of the amount",
        cell: ({ worth }) => (worth === null ? "not compared" : percent(worth)),
        numeric: true,
      },
      { head: "", cell: ({ note }) => html`<small>${note}</small>` },
    ],
    [
      ...moments.map((each): Row => ({ ...each, note: each === chosen ? "chosen" : "best compared of its day" })),
      ...hours.map(
        (each): Row => ({
          ...each,
          note: isMomentOf(each, idealTime!) ? "hour of the chosen day, chosen" : "hour of the chosen day",
        }),
      ),
    ],
  )}</details>`;
}

type Row = HourProspect & { note: string };

/** A few minutes are added to the moment that is chosen. */
const isMomentOf = ({ at }: Pick<Prospect, "at">, idealTime: Date) => Math.abs(+at - +idealTime) < HOUR_MS;

/** The moment that was chosen, which need not be the best one of its day: a draw puts another one in its place. */
const chosenOf = ({ account: { even }, idealTime, chance }: DecisionRecord): HourProspect => ({
  at: idealTime!,
  chance: chance!,
  worth: even ? even.planWorth : null,
});

/** Why a moment other than the plan's next one was chosen; empty: none was. */
function drawnWords({ drawn, hourDrawn, spread }: Account): string {
  if (spread) return ", spread evenly, since far fewer tries were approved of late than was said";
  if (drawn) return ", drawn by lot among good ones or sooner ones, to go on learning";
  if (hourDrawn) return ", its hour drawn by how likely each is believed to be the best one, to go on learning";
  return "";
}

function hoursWords(hours: readonly HourProspect[]): string {
  const chances = hours.map(({ chance }) => chance);
  const [least, most] = [percent(Math.min(...chances)), percent(Math.max(...chances))];
  return least === most
    ? `On the chosen day the chance is ${most} at each hour that was looked at.`
    : `On the chosen day chances by the hour go from ${least} to ${most}.`;
}

/** The plot in sentences. */
function summary(
  { account, chance, idealTime }: DecisionRecord,
  others: readonly Prospect[],
  zone: string,
  paidBy: Instrument,
): string[] {
  const { days, hours, even, ruledOut } = account;
  const [next] = [...others].sort((a, b) => b.worth - a.worth);
  return [
    `Chosen: ${momentText(idealTime!, zone)}, with a chance of ${percent(chance!)}${drawnWords(account)}.`,
    `${days.length} ${days.length === 1 ? "day was" : "days were"} compared${next ? `; the next best moment is ${momentText(next.at, zone)}, with ${percent(next.chance)}` : ""}.`,
    "What counts is not the one chance, but what a try is worth together with those that can follow it.",
    ...(hours.length > 0 ? [hoursWords(hours)] : []),
    ...(ruledOut.length > 0
      ? [`${ruledOut.length} ${ruledOut.length === 1 ? "stretch is" : "stretches are"} ruled out.`]
      : []),
    ...(even
      ? [
          `With this plan of ${triesWords(even.plan.length)} the invoice is recovered with a chance of ${percent(even.planRecovers)}, with ${triesWords(even.tries.length)} spread evenly ${percent(even.recovers)}${even.asMany ? `, with a plan of ${triesWords(even.tries.length)} ${percent(even.asMany.recovers)}` : ""}.`,
          besideEven(paidBy),
        ]
      : []),
  ];
}
