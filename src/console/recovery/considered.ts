import { percent } from "../../decisions/shares.ts";
import type { DecisionRecord, HourProspect, Prospect } from "../../domain/decision.ts";
import { DAY_MS, HOUR_MS } from "../../domain/durations.ts";
import { type Html, html } from "../html.ts";
import { daysBetween, moment, momentText } from "../show/moments.ts";
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

/** All moments that were thought of for a try: a plot, what is said of them, and a table. */
export function considered(
  decision: DecisionRecord,
  windowEndsAt: Date,
  zone: string,
  said: readonly string[] = [],
): Html {
  const { account, madeAt, idealTime } = decision;
  const { days, hours, ruledOut, even } = account;
  const chosen = chosenOf(decision);
  const others = days.filter((each) => !isMomentOf(each, idealTime!));
  const moments = [...others, chosen].sort((a, b) => +a.at - +b.at);
  const to = new Date(Math.max(+windowEndsAt, ...days.map(({ at }) => +at)) + DAY_MS / 2);
  const plot = momentsPlot(
    `The best time of each of ${days.length} days that were compared, by expected value. Chosen: ${momentText(idealTime!, zone)}, with ${valueWords(chosen)}. All of them are in the table of numbers.`,
    {
      from: madeAt,
      to,
      moments: moments.map((each) => ({
        ...each,
        value: each.worth,
        isChosen: each === chosen,
        words: `${momentText(each.at, zone)}: ${valueWords(each)}`,
      })),
      ruledOut: ruledOut.map(({ rule, from, to }) => ({ from, to, words: rule })),
      rows:
        even === null
          ? []
          : [
              { label: "this plan", moments: even.plan },
              { label: "even retries", moments: even.tries },
            ],
      days: daysBetween(madeAt, to, zone, LABELS),
    },
  );
  return html`<figure class="chart considered"><figcaption>By expected value, with the retries that would follow. <span class="key dot"></span> the best compared time of a day <span class="key dot chosen"></span> chosen${ruledOut.length > 0 && html` <span class="key ruled"></span> a rule forbids it`}</figcaption>${plot}</figure>
${said.map((line) => html`<p class="text">${line}</p>`)}
<details class="more"><summary>The numbers</summary>${table(
    "Times that were considered",
    [
      { head: "Time", cell: ({ at }: Row) => moment(at, zone) },
      { head: "Chance", cell: ({ chance }) => percent(chance), numeric: true },
      {
        head: "Expected value, of the amount",
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

/** At most so many dates stand below the plot. */
const LABELS = 8;

const valueWords = ({ worth, chance }: HourProspect) =>
  `${worth === null ? "" : `an expected value of ${percent(worth)} of the amount and `}a chance of ${percent(chance)}`;

type Row = HourProspect & { note: string };

/** A few minutes are added to the moment that is chosen. */
const isMomentOf = ({ at }: Pick<Prospect, "at">, idealTime: Date) => Math.abs(+at - +idealTime) < HOUR_MS;

/** The moment that was chosen, which need not be the best one of its day: a draw puts another one in its place. */
const chosenOf = ({ account: { even }, idealTime, chance }: DecisionRecord): HourProspect => ({
  at: idealTime!,
  chance: chance!,
  worth: even ? even.planWorth : null,
});
