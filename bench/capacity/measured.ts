// Figures that `npm run bench -- capacity` measured, and the assumptions behind the guide's tables.
import type { Assumptions, CaseLife, Cost, UnitCosts } from "./sizing.ts";

const cost = (serviceMs: number, databaseMs: number, walBytes: number, diskBytes: number): Cost => ({
  ...{ serviceMs, databaseMs, walBytes, diskBytes },
});

export const COSTS: UnitCosts = {
  paidInvoice: cost(0.01, 0.013, 518, 400),
  unpaidInvoice: cost(0.023, 0.06, 2_452, 1_049),
  attempt: cost(0.032, 0.061, 1_233, 926),
  decision: cost(1.05, 0.528, 8_166, 5_071),
  loneDecision: cost(3.28, 4.72, 7_992, 5_188),
  step: cost(0.088, 0.128, 1_094, 410),
  delivery: cost(0.097, 0.094, 395, 245),
  learned: cost(0.359, 0.27, 0, 0),
};

export const PAGES = { list: cost(3.9, 1.6, 0, 0), console: cost(8.2, 13, 0, 0) };

/** CPU of the endpoint in the bench, for each webhook. */
export const RECEIVER_MS = 0.036;

/** `--lives 150`: 250 failed payments in a simulated year. */
const ROWS = { attempts: 3.5, decisions: 2.9, actions: 2.7, events: 3.8 };

/** A row's bytes in its table and in the indexes. */
const ROW_BYTES: Readonly<Record<string, readonly [number, number]>> = {
  cases: [463, 1_095],
  due_cases: [171, 407],
  invoices: [178, 220],
  transactions: [268, 593],
  decisions: [1_795, 98],
  recovery_actions: [977, 1_589],
  events: [415, 214],
  delivery_attempts: [138, 108],
};

/** An open case has half of the rows that it has in the end. */
const OPEN_ROWS: Readonly<Record<string, number>> = {
  ...{ cases: 1, due_cases: 1, invoices: 1, transactions: ROWS.attempts / 2, decisions: ROWS.decisions / 2 },
  ...{ recovery_actions: ROWS.actions / 2, events: ROWS.events / 2, delivery_attempts: ROWS.events / 2 },
};
const bytesOfOpenCase = (part: 0 | 1) =>
  Object.entries(OPEN_ROWS).reduce((total, [table, rows]) => total + rows * ROW_BYTES[table]![part], 0);

export const LIFE: CaseLife = {
  ...{ attempts: ROWS.attempts, decisions: ROWS.decisions, steps: 8.9, events: ROWS.events, openDays: 10 },
  diskBytes: 25_000,
  open: { heapBytes: bytesOfOpenCase(0), indexBytes: bytesOfOpenCase(1) },
};

/** Of `npx dunlin backup`: 9.1 GB in 4.9 minutes. */
export const BACKUP_BYTES_PER_SECOND = 9.1e9 / (4.9 * 60);

/** Database CPU for a paid invoice through Citus. */
const CITUS_PAID_INVOICE_MS = 0.075;

export const ASSUMPTIONS: Assumptions = {
  failedShare: 0.1,
  peakFactor: 4,
  utilization: 0.6,
  fullPageFactor: 4,
  keptDays: 450,
  citusFactor: CITUS_PAID_INVOICE_MS / COSTS.paidInvoice.databaseMs,
  server: { cores: 32, walBytesPerSecond: 200e6, diskBytes: 10e12, connections: 500 },
  connectionsPerProcess: 25,
  idle: { serviceMs: 10, databaseMs: 5 },
  measuredBytes: 9.1e9,
  measuredCores: 2,
};

interface Figures {
  perSecond: number;
  deciderBusy: number;
  databaseBusy: number;
  decisionP50: number | null;
  decisionP95: number | null;
  deliveryP50: number | null;
  deliveryP95: number | null;
}

const NO_WAITS = { decisionP50: null, decisionP95: null, deliveryP50: null, deliveryP95: null };
const busy = (perSecond: number, deciderBusy: number, databaseBusy: number) => ({
  ...{ perSecond, deciderBusy, databaseBusy },
});
const waits = (decisionP50: number, decisionP95: number, deliveryP50: number, deliveryP95: number) => ({
  ...{ decisionP50, decisionP95, deliveryP50, deliveryP95 },
});

/** `--compare --repeats 3`, medians. */
export const COMPARISONS: readonly { what: string; measured: Figures; predicted: Figures }[] = [
  {
    what: "1 giant merchant, 1 decider",
    measured: { ...busy(209, 0.23, 0.14), ...NO_WAITS },
    predicted: { ...busy(158, 0.17, 0.08), ...NO_WAITS },
  },
  {
    what: "1 giant merchant, 2 deciders",
    measured: { ...busy(239, 0.29, 0.14), ...NO_WAITS },
    predicted: { ...busy(210, 0.22, 0.11), ...NO_WAITS },
  },
  {
    what: "8 merchants, 1 decider",
    measured: { ...busy(266, 0.24, 0.14), ...NO_WAITS },
    predicted: { ...busy(190, 0.2, 0.1), ...NO_WAITS },
  },
  {
    what: "8 merchants, 2 deciders",
    measured: { ...busy(224, 0.27, 0.15), ...NO_WAITS },
    predicted: { ...busy(225, 0.24, 0.12), ...NO_WAITS },
  },
  {
    what: "8 merchants with deliveries: the limit",
    measured: { ...busy(135, 0.19, 0.19), ...NO_WAITS },
    predicted: { ...busy(126, 0.16, 0.12), ...NO_WAITS },
  },
  {
    what: "30% of the limit",
    measured: { ...busy(41, 0.09, 0.11), ...waits(172, 312, 11, 59) },
    predicted: { ...busy(41, 0.06, 0.06), ...waits(196, 356, 13, 40) },
  },
  {
    what: "60% of the limit",
    measured: { ...busy(89, 0.14, 0.17), ...waits(182, 444, 12, 97) },
    predicted: { ...busy(89, 0.12, 0.13), ...waits(318, 524, 20, 27) },
  },
  {
    what: "80% aimed at",
    measured: { ...busy(99, 0.14, 0.16), ...waits(871, 2448, 46, 152) },
    predicted: { ...busy(99, 0.12, 0.12), ...waits(530, 965, 26, 65) },
  },
  {
    what: "95% aimed at",
    measured: { ...busy(123, 0.14, 0.18), ...waits(898, 1898, 44, 196) },
    predicted: { ...busy(123, 0.12, 0.11), ...waits(864, 2044, 29, 89) },
  },
];
