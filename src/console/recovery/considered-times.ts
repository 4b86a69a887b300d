import type { DecisionRecord, EvaluatedHour, EvaluatedTime } from "../../domain/decision.ts";
import { DAY_MS, HOUR_MS } from "../../domain/durations.ts";
import { formatPercent } from "../../engine/shares.ts";
import { type Html, html } from "../html.ts";
import { table } from "../show/table.ts";
import { dayStartsBetween, formatTime, timeElement } from "../show/time-format.ts";
import { timesPlot } from "../show/times-plot.ts";

/** JSON has no dates, and another version may have stored them differently. */
export const isReadable = ({ account: { days, hours, ruledOut, even } }: DecisionRecord) =>
  [
    ...[...days, ...hours].map(({ at }) => at),
    ...ruledOut.flatMap(({ from, to }) => [from, to]),
    ...(even?.tries ?? []),
    ...(even?.plan ?? []),
  ].every((at) => !Number.isNaN(at.getTime()));

/** Only the learned engine compares times. */
export const hasConsideredTimes = (decision: DecisionRecord) =>
  decision.account.days.length > 0 && decision.idealTime !== null && decision.chance !== null && isReadable(decision);

export function consideredTimes(
  decision: DecisionRecord,
  windowEndsAt: Date,
  zone: string,
  remarks: readonly string[] = [],
): Html {
  const { account, madeAt, idealTime } = decision;
  const { days, hours, ruledOut, even } = account;
  const chosen = chosenTimeOf(decision);
  const otherDays = days.filter((each) => !isTimeOfRetry(each, idealTime!));
  const times = [...otherDays, chosen].sort((a, b) => +a.at - +b.at);
  const to = new Date(Math.max(+windowEndsAt, ...days.map(({ at }) => +at)) + DAY_MS / 2);
  const plot = timesPlot(
    `The best time of each of ${days.length} compared days, by expected value. Chosen: ${formatTime(idealTime!, zone)}, with ${formatExpectedValue(chosen)}. The table below lists all times.`,
    {
      from: madeAt,
      to,
      times: times.map((each) => ({
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
              { label: "this plan", times: even.plan },
              { label: "evenly spaced", times: even.tries },
            ],
      days: dayStartsBetween(madeAt, to, zone, DATE_LABELS_MAX),
    },
  );
  return html`<figure class="chart considered"><figcaption>The expected value includes the retries that would follow. <span class="key dot"></span> best compared time of a day <span class="key dot chosen"></span> chosen${ruledOut.length > 0 && html` <span class="key ruled"></span> forbidden by a rule`}</figcaption>${plot}</figure>
${remarks.map((line) => html`<p class="text">${line}</p>`)}
<details class="more"><summary>The numbers</summary>${table(
    "Considered times",
    [
      { head: "Time", cell: ({ at }: ConsideredRow) => timeElement(at, zone) },
      { head: "Success probability", cell: ({ chance }) => formatPercent(chance), numeric: true },
      {
        head: "Expected value (share of the amount)",
        cell: ({ worth }) => (worth === null ? "not compared" : formatPercent(worth)),
        numeric: true,
      },
      { head: "", cell: ({ note }) => html`<small>${note}</small>` },
    ],
    [
      ...times.map(
        (each): ConsideredRow => ({ ...each, note: each === chosen ? "chosen" : "best compared time of its day" }),
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

const DATE_LABELS_MAX = 8;

const formatExpectedValue = ({ worth, chance }: EvaluatedHour) =>
  `${worth === null ? "" : `an expected value of ${formatPercent(worth)} of the amount and `}a success probability of ${formatPercent(chance)}`;

type ConsideredRow = EvaluatedHour & { note: string };

/** The chosen time lies a few minutes after the evaluated one. */
const isTimeOfRetry = ({ at }: Pick<EvaluatedTime, "at">, idealTime: Date) => Math.abs(+at - +idealTime) < HOUR_MS;

/** With random exploration it may not be the best of its day. */
const chosenTimeOf = ({ account: { even }, idealTime, chance }: DecisionRecord): EvaluatedHour => ({
  at: idealTime!,
  chance: chance!,
  worth: even ? even.planWorth : null,
});
