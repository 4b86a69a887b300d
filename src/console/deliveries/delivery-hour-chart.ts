import { HOUR_MS } from "../../domain/durations.ts";
import { countAttemptsByHour, type HourlyAttempts } from "../../tables/delivery-figures.ts";
import { type Html, html } from "../html.ts";
import { type Bar, barChart } from "../show/bar-chart.ts";
import { formatCount } from "../show/number-format.ts";
import { toDatetimeLocal } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";

const HOURS = 24;

export async function loadHourChart({ db, merchantId, person: { zone } }: Visit, now: Date): Promise<Html | null> {
  const first = hourStart(new Date(now.getTime() - (HOURS - 1) * HOUR_MS), zone);
  const hours = await countAttemptsByHour(db, merchantId, first);
  return hours.length === 0 ? null : renderHourChart(hours, first, zone);
}

/** The viewer's zone may differ from UTC by a fraction of an hour. */
const hourStart = (at: Date, zone: string) =>
  new Date(at.getTime() - (at.getTime() % 60_000) - Number(toDatetimeLocal(at, zone).slice(14, 16)) * 60_000);

function renderHourChart(hours: readonly HourlyAttempts[], first: Date, zone: string): Html {
  const bars = Array.from({ length: HOURS }, (_, index): Bar => {
    const { delivered = 0, failed = 0 } = hours.find(({ hour }) => hour === index) ?? {};
    const label = toDatetimeLocal(new Date(first.getTime() + index * HOUR_MS), zone).slice(11, 16);
    return { label, part: delivered, rest: failed, isOpen: index === HOURS - 1 };
  });
  const total = (side: "part" | "rest") => formatCount(bars.reduce((sum, bar) => sum + bar[side], 0));
  const summary = `Attempts of the last ${HOURS} hours: ${total("part")} delivered, ${total("rest")} failed`;
  return html`<details class="card mb"><summary class="log-sum"><h2>Attempts of the last ${HOURS} hours</h2> <span class="soft small">${total("part")} delivered, ${total("rest")} failed</span></summary>
<div class="in">${barChart(summary, { part: "delivered", rest: "failed", each: "Hour" }, bars)}</div></details>`;
}
