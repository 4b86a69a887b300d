import type { DecisionRecord, EvaluatedHour, EvaluatedTime } from "../../domain/decision.ts";
import { DAY_MS, HOUR_MS } from "../../domain/durations.ts";
import { formatPercent } from "../../engine/shares.ts";
import { type Html, html } from "../html.ts";
import { table } from "../show/table.ts";
import { dayStartsBetween, formatTime, timeElement } from "../show/time-format.ts";
import { timesPlot } from "../show/times-plot.ts";

/** Whether the moments of an account can be read: it lies in the database as JSON, which has none. */
export const isReadable = ({ account: { days, hours, ruledOut, even } }: DecisionRecord) =>
  [
    ...[...days, ...hours].map(({ at }) => at),
    ...ruledOut.flatMap(({ from, to }) => [from, to]),
    ...(even?.tries ?? []),
    ...(even?.plan ?? []),
  ].every((at) => !Number.isNaN(at.getTime()));

/** Whether other moments were compared: only what was learned can do that. */
export const hasConsideredTimes = (decision: DecisionRecord) =>
  decision.account.days.length > 0 && decision.idealTime !== null && decision.chance !== null && isReadable(decision);

/** All moments that were thought of for a try: a plot, what is said of them, and a table. */
export function consideredTimes(
  decision: DecisionRecord,
  windowEndsAt: Date,
  zone: string,
  said: readonly string[] = [],
): Html {
  const { account, madeAt, idealTime } = decision;
  const { days, hours, ruledOut, even } = account;
  const chosen = chosenTimeOf(decision);
  const others = days.filter((each) => !isTimeOfRetry(each, idealTime!));
  const moments = [...others, chosen].sort((a, b) => +a.at - +b.at);
  const to = new Date(Math.max(+windowEndsAt, ...days.map(({ at }) => +at)) + DAY_MS / 2);
  const plot = timesPlot(
    `The best time of each of ${days.length} days that were compared, by expected value. Chosen: ${formatTime(idealTime!, zone)}, with ${formatExpectedValue(chosen)}. All of them are in the table of numbers.`,
    {
      from: madeAt,
      to,
      moments: moments.map((each) => ({
        ...each,
        value: each.worth,
        isChosen: each === chosen,
        words: `${formatTime(each.at, zone)}: ${formatExpectedValue(each)}`,
      })),
      ruledOut: ruledOut.map(({ rule, from, to }) => ({ from, to, words: rule })),
      rows:
        even === null
          ? []
          : [
              { label: "this plan", moments: even.plan },
              { label: "even retries", moments: even.tries },
            ],
      days: dayStartsBetween(madeAt, to, zone, DATE_LABELS_MAX),
    },
  );
  return html`<figure class="chart considered"><figcaption>By expected value, with the retries that would follow. <span class="key dot"></span> the best compared time of a day <span class="key dot chosen"></span> chosen${ruledOut.length > 0 && html` <span class="key ruled"></span> a rule forbids it`}</figcaption>${plot}</figure>
${said.map((line) => html`<p class="text">${line}</p>`)}
<details class="more"><summary>The numbers</summary>${table(
    "Times that were considered",
    [
      { head: "Time", cell: ({ at }: ConsideredRow) => timeElement(at, zone) },
      { head: "Chance", cell: ({ chance }) => formatPercent(chance), numeric: true },
      {
        head: "Expected value, of the amount",
        cell: ({ worth }) => (worth === null ? "not compared" : formatPercent(worth)),
        numeric: true,
      },
      { head: "", cell: ({ note }) => html`<small>${note}</small>` },
    ],
    [
      ...moments.map(
        (each): ConsideredRow => ({ ...each, note: each === chosen ? "chosen" : "best compared of its day" }),
      ),
      ...hours.map(
        (each): ConsideredRow => ({
          ...each,
          note: isTimeOfRetry(each, idealTime!) ? "hour of the chosen day, chosen" : "hour of the chosen day",
        }),
      ),
    ],
  )}</details>`;
}

/** At most so many dates stand below the plot. */
const DATE_LABELS_MAX = 8;

const formatExpectedValue = ({ worth, chance }: EvaluatedHour) =>
  `${worth === null ? "" : `an expected value of ${formatPercent(worth)} of the amount and `}a chance of ${formatPercent(chance)}`;

type ConsideredRow = EvaluatedHour & { note: string };

/** A few minutes are added to the moment that is chosen. */
const isTimeOfRetry = ({ at }: Pick<EvaluatedTime, "at">, idealTime: Date) => Math.abs(+at - +idealTime) < HOUR_MS;

/** The moment that was chosen, which need not be the best one of its day: a draw puts another one in its place. */
const chosenTimeOf = ({ account: { even }, idealTime, chance }: DecisionRecord): EvaluatedHour => ({
  at: idealTime!,
  chance: chance!,
  worth: even ? even.planWorth : null,
});
