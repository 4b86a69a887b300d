// `node bench/decision-speed.ts`: CPU per decision and per model update.
import { readPretrainedModel } from "../lab/trial/open-world.ts";
import { chooseRetry } from "../src/engine/choose-retry.ts";
import { type CustomerHistory, inferPosterior, type PastInvoice } from "../src/engine/infer-posterior.ts";
import { fromPretrained } from "../src/engine/learned/pretrained-model.ts";
import { learnRetry } from "../src/engine/learned/train.ts";

const DAY_MS = 86_400_000;
const ROUNDS = 21;
const PER_ROUND = 250;
const INVOICES_PER_CUSTOMER = 12;
const learned = fromPretrained(readPretrainedModel());
const countries = ["US", "GB", "DE", "BR", "SE", "AU"];
const codes = ["51", "05", "ZZ"];

function measureCpuMicros(work: (n: number) => void): number {
  let done = 0;
  const rounds = Array.from({ length: ROUNDS }, () => {
    const before = process.cpuUsage();
    for (let n = 0; n < PER_ROUND; n++) work(done++);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / PER_ROUND;
  });
  return rounds.sort((a, b) => a - b)[ROUNDS >> 1]!;
}

/** Monthly: some were declined and paid three days later, the last one is open. */
function historyOf(n: number): CustomerHistory {
  const instrument = { network: "visa", cardCountry: null, paymentMethodType: "card" };
  const none = { networkAdviceCode: null, gatewayCode: null, declineCategory: null };
  const declined = { ...none, networkDeclineCode: codes[n % 3]! };
  const bills = Array.from({ length: INVOICES_PER_CUSTOMER }, (_, month): PastInvoice => {
    const at = new Date(Date.UTC(2026, (n % 12) + month, 1 + (n % 28), n % 24));
    const fails = month === INVOICES_PER_CUSTOMER - 1 || (n + month) % 7 === 0;
    const paid = { at: new Date(at.getTime() + 3 * DAY_MS), approved: true, codes: null };
    const first = { at, approved: !fails, codes: fails ? declined : null };
    return {
      paymentMethodType: "card",
      dollars: 20,
      charges: fails && month < INVOICES_PER_CUSTOMER - 1 ? [first, paid] : [first],
    };
  });
  const traits = {
    tenureDays: 400,
    billingPeriod: 1,
    billingPeriodUnit: "MONTH",
    merchant: "own",
    country: countries[n % countries.length]!,
    paymentMethodType: "card",
    network: "visa",
    funding: "debit",
    issuer: "a bank",
  };
  return { traits, instrument, offsetAt: () => 0, invoices: bills };
}
const histories = Array.from({ length: 500 }, (_, n) => historyOf(n));
const cases = histories.map((history) => inferPosterior(learned, history));

const decisionMicros = measureCpuMicros((n) => {
  const { posterior } = cases[n % cases.length]!;
  const failedAt = posterior.firstFailedAt;
  chooseRetry(learned, posterior, {
    key: `case-${n}`,
    now: failedAt,
    windowEndsAt: failedAt + 28 * DAY_MS,
    windowMs: 28 * DAY_MS,
    retriesLeft: 6,
    explores: true,
    allow: () => true,
    limits: [],
    dollars: 24,
    retryValue: { valueAt: (at) => 1 - (0.004 * (at - failedAt)) / DAY_MS, cost: 0.008 },
  });
});
const readingMicros = measureCpuMicros((n) => inferPosterior(learned, histories[n % histories.length]!));
const updateMicros = measureCpuMicros((n) => {
  const { customer, posterior } = cases[n % cases.length]!;
  const at = posterior.firstFailedAt + ((n / 500) | 0) * 0.1 * DAY_MS;
  learnRetry(learned, customer, posterior, at, n % 3 === 0 ? null : "FUNDS");
});
console.log(
  `decision ${(readingMicros + decisionMicros).toFixed(0)} µs of CPU (target 200): ${readingMicros.toFixed(0)} for making ${INVOICES_PER_CUSTOMER} invoices into a posterior, ${decisionMicros.toFixed(0)} for probabilities and a plan; model update ${updateMicros.toFixed(1)} µs (aim 20)`,
);
