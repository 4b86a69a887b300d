import type { Merchant } from "../domain/merchant.ts";
import { EXPLORATION_MIN_OUTCOMES } from "../engine/explore-first-retry.ts";

const formatYesNo = (is: boolean) => (is ? "yes" : "no");

/** Each setting as text, with the names and units of the command options. */
export const SETTINGS_WORDING: readonly (readonly [name: string, words: (merchant: Merchant) => string])[] = [
  ["name", ({ name }) => name],
  ["webhook url", ({ webhookUrl }) => webhookUrl ?? "none"],
  ["credential", ({ webhookAuth }) => webhookAuth ?? "none"],
  ["shape", ({ webhookFlat }) => (webhookFlat ? "flat" : "envelope")],
  ["sub-paths", ({ webhookSubPaths }) => formatYesNo(webhookSubPaths)],
  ["signed", ({ webhookSecret }) => formatYesNo(webhookSecret !== null)],
  ["cap", ({ webhookCap }) => String(webhookCap)],
  ["webhook rate", ({ webhookRate }) => (webhookRate === null ? "off" : String(webhookRate))],
  ["recovery ended", ({ sendsRecoveryEnded }) => formatYesNo(sendsRecoveryEnded)],
  ["lead minutes", ({ leadMs }) => String(leadMs / 60_000)],
  ["window days", ({ windowDays }) => String(windowDays)],
  ["budget", ({ budget }) => String(budget)],
  ["smallest amount", ({ smallestAmount }) => String(smallestAmount)],
  ["engine", ({ engine }) => engine],
  ["shadow", ({ shadow }) => formatYesNo(shadow)],
  [
    "explore",
    ({ explore }) => (explore === null ? `after ${EXPLORATION_MIN_OUTCOMES} outcomes` : formatYesNo(explore)),
  ],
  ["share learning", ({ sharesLearning }) => formatYesNo(sharesLearning)],
  ["rate per second", ({ ratePerSecond }) => String(ratePerSecond)],
  ["rate burst", ({ rateBurst }) => String(rateBurst)],
  ["paused", ({ webhookPaused }) => formatYesNo(webhookPaused)],
];
