import { inspect } from "node:util";
import { HOUR_MS } from "../../src/domain/durations.ts";
import type { Bill, Charge, World } from "../worlds/world.ts";

/** Tells a world's author where it violates its interface. */
export class WorldFault extends Error {
  override name = "WorldFault";
}

const MAX_WINDOW_DAYS = 366;
const TIME_TOLERANCE_MS = HOUR_MS;
const UNITS: ReadonlySet<unknown> = new Set(["DAY", "WEEK", "MONTH", "YEAR"]);
const METHODS = ["bills", "charge", "approval"] as const;
const BILL_TEXTS = ["id", "customerId", "subscriptionId", "merchantKey", "planId"] as const;
const CHARGE_TEXTS = [
  "networkDeclineCode",
  "networkAdviceCode",
  "cardBrand",
  "cardFunding",
  "cardCountry",
  "cardIssuer",
  "cardFingerprint",
] as const;
/** For summed chances. */
const ROUNDING_TOLERANCE = 1e-6;

/**
 * Invalid answers would cause meaningless figures or distant errors.
 *
 * @param candidate  the world that a module exports
 * @throws {WorldFault} here if it is not a world, and from its methods if an answer is invalid
 */
export function createCheckedWorld(candidate: unknown): World {
  const world = candidate as World;
  if (typeof world !== "object" || world === null)
    throw new WorldFault(`world() returned ${formatValue(world)}, not a world`);
  if (typeof world.name !== "string" || world.name === "")
    throw new WorldFault(`the world's name must be a text, not ${formatValue(world.name)}`);
  for (const method of METHODS)
    if (typeof world[method] !== "function") throw new WorldFault(`the world has no method ${method}`);
  let latest: Iterable<Bill> | null = null;
  /** It may recognize its own invoices by identity. */
  const originals = new WeakMap<Bill, Bill>();
  const ownOf = (bill: Bill) => originals.get(bill) ?? bill;
  return {
    name: world.name,
    *bills(seed, customers) {
      const bills = callWorld(
        () => "bills()",
        () => world.bills(seed, customers),
      );
      if (typeof bills?.[Symbol.iterator] !== "function")
        throw new WorldFault(`bills() returned ${formatValue(bills)}, which is not iterable`);
      // A list can be returned twice, but a finished generator cannot.
      if (bills === latest && (bills as unknown) === bills[Symbol.iterator]())
        throw new WorldFault("bills() returned the same iterator again, but each call must restart the world");
      latest = bills;
      const ids = new Set<string>();
      let newest: Bill | null = null;
      try {
        for (const bill of bills) {
          checkBill(bill, ids.size);
          if (ids.has(bill.id)) throw new WorldFault(`bill ${bill.id}: its id belongs to an earlier bill`);
          ids.add(bill.id);
          if (newest && bill.createdAt.getTime() < newest.createdAt.getTime() - TIME_TOLERANCE_MS)
            throw new WorldFault(
              `bill ${bill.id}: createdAt, ${bill.createdAt.toISOString()}, is before ${newest.createdAt.toISOString()}, the date of the earlier bill ${newest.id}; bills must come in time order`,
            );
          if (!newest || bill.createdAt > newest.createdAt) newest = bill;
          const first = removeBlanks(bill.first);
          const checked = first === bill.first ? bill : { ...bill, first };
          if (checked !== bill) originals.set(checked, bill);
          yield checked;
        }
      } catch (error) {
        throw error instanceof WorldFault ? error : toWorldFault(`bills(), after ${ids.size} of them,`, error);
      }
    },
    charge(bill, at) {
      const charge = callWorld(
        () => describeCall("charge", bill, at),
        () => world.charge(ownOf(bill), at),
      );
      checkCharge(`charge() of bill ${bill.id}`, charge, at);
      return removeBlanks(charge);
    },
    approval(bill, at, tried) {
      const describePlace = () => describeCall("approval", bill, at);
      const chance = callWorld(describePlace, () => world.approval(ownOf(bill), at, tried));
      if (typeof chance !== "number" || !(chance >= -ROUNDING_TOLERANCE && chance <= 1 + ROUNDING_TOLERANCE))
        throw new WorldFault(`${describePlace()}: must be from 0 to 1, not ${formatValue(chance)}`);
      return Math.min(1, Math.max(0, chance));
    },
    ...(world.payDays === undefined ? {} : { payDays: (bill: Bill) => callPayDays(world, ownOf(bill)) }),
  };
}

const describeCall = (method: "charge" | "approval", { id }: Bill, at: Date) =>
  `${method}() of bill ${id} at ${at.toISOString()}`;

/** Called millions of times, so only a fault describes the place. */
function callWorld<Answer>(describePlace: () => string, ask: () => Answer): Answer {
  try {
    return ask();
  } catch (error) {
    throw toWorldFault(describePlace(), error);
  }
}

function toWorldFault(describePlace: string, error: unknown): WorldFault {
  if (!(error instanceof Error)) return new WorldFault(`${describePlace} threw ${formatValue(error)}`);
  const lines = error.stack?.match(/^ +at .*:\d+:\d+\)?$/gm) ?? [];
  const line = lines.find((each) => !/\(?node:/.test(each)) ?? "";
  return new WorldFault(`${describePlace} threw ${error.name}: ${error.message}${line.replace(/^ +at/, ", at")}`);
}

function callPayDays(world: World, bill: Bill) {
  if (typeof world.payDays !== "function")
    throw new WorldFault(`payDays must be a method, not ${formatValue(world.payDays)}`);
  const isPayDay = callWorld(
    () => `payDays() of bill ${bill.id}`,
    () => world.payDays!(bill),
  );
  if (isPayDay !== null && typeof isPayDay !== "function")
    throw new WorldFault(`payDays() of bill ${bill.id}: must be a function or null, not ${formatValue(isPayDay)}`);
  return isPayDay;
}

/** @param number  from 0, in case the id is wrong */
function checkBill(bill: Bill, number: number) {
  if (typeof bill !== "object" || bill === null)
    throw new WorldFault(`bill number ${number + 1} is ${formatValue(bill)}`);
  const describePlace = typeof bill.id === "string" && bill.id !== "" ? `bill ${bill.id}` : `bill number ${number + 1}`;
  const must = (isSo: boolean, name: keyof Bill, description: string) => {
    if (!isSo) throw new WorldFault(`${describePlace}: ${name} must be ${description}, not ${formatValue(bill[name])}`);
  };
  must(bill.id !== "", "id", "a text");
  for (const name of BILL_TEXTS) must(typeof bill[name] === "string", name, "a text");
  const minAmount = bill.first?.approved === true ? 0 : 1;
  const isMinor = Number.isSafeInteger(bill.amount) && bill.amount >= minAmount;
  must(isMinor, "amount", `a whole number of minor units, ${minAmount} or more`);
  must(typeof bill.currency === "string" && /^[A-Za-z]{3}$/.test(bill.currency), "currency", "three letters");
  must(isPositive(bill.billingPeriod), "billingPeriod", "a number above 0");
  must(UNITS.has(bill.billingPeriodUnit), "billingPeriodUnit", [...UNITS].join(", "));
  must(isValidDate(bill.createdAt), "createdAt", "a date");
  must(isValidDate(bill.subscriptionCreatedAt), "subscriptionCreatedAt", "a date");
  const { windowDays } = bill;
  must(isPositive(windowDays) && windowDays <= MAX_WINDOW_DAYS, "windowDays", `above 0 and at most ${MAX_WINDOW_DAYS}`);
  checkCharge(`${describePlace}: first`, bill.first, bill.createdAt);
}

function checkCharge(describePlace: string, charge: Charge, at: Date) {
  if (typeof charge !== "object" || charge === null)
    throw new WorldFault(`${describePlace} is ${formatValue(charge)}, not a charge`);
  const must = (isSo: boolean, name: keyof Charge, description: string) => {
    if (!isSo)
      throw new WorldFault(`${describePlace}: ${name} must be ${description}, not ${formatValue(charge[name])}`);
  };
  must(isValidDate(charge.at), "at", "a date");
  must(
    Math.abs(charge.at.getTime() - at.getTime()) <= TIME_TOLERANCE_MS,
    "at",
    `the time of the charge, ${at.toISOString()}`,
  );
  must(typeof charge.approved === "boolean", "approved", "true or false");
  must(
    typeof charge.paymentMethodType === "string" && charge.paymentMethodType !== "",
    "paymentMethodType",
    "a text such as card or sepa_debit",
  );
  for (const name of CHARGE_TEXTS) must(typeof (charge[name] ?? "") === "string", name, "a text, or absent if unknown");
}

/** An empty fingerprint would merge all cards without one. */
function removeBlanks(charge: Charge): Charge {
  const isBlank = (name: (typeof CHARGE_TEXTS)[number]) => charge[name] === null || charge[name] === "";
  if (!CHARGE_TEXTS.some(isBlank)) return charge;
  const cleaned = { ...charge };
  for (const name of CHARGE_TEXTS) if (isBlank(name)) delete cleaned[name];
  return cleaned;
}

const isPositive = (value: unknown) => typeof value === "number" && Number.isFinite(value) && value > 0;
const isValidDate = (value: unknown) => value instanceof Date && Number.isFinite(value.getTime());

const formatValue = (value: unknown): string =>
  inspect(value, { depth: 0, breakLength: Number.POSITIVE_INFINITY, maxStringLength: 60 });
