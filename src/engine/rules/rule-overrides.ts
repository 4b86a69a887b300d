import { DAY_MS, HOUR_MS } from "../../domain/durations.ts";
import { type AdviceCode, findAdviceCode, setAdviceCode, unknownAdvice } from "./advice-codes.ts";
import { BANK_DEBITS, type BankDebit, findBankDebit, normalizeSchemeCode, setBankDebit } from "./bank-debits.ts";
import { type AttemptLimit, type CardNetwork, findCardNetwork, setCardNetwork } from "./card-networks.ts";
import { DECLINE_GROUPS, type DeclineGroup } from "./decline-groups.ts";
import { setGatewayCode } from "./gateway-codes.ts";
import { CARD_TYPES } from "./instrument.ts";
import { findResponseCode, type ResponseCode, setResponseCode, type VisaCategory } from "./response-codes.ts";
import { operatorSource } from "./sources.ts";
import { findWallet, setWallet } from "./wallets.ts";

/** Rules of an operator that replace the built-in ones. */
export interface RuleOverrides {
  networks: [brand: string, network: CardNetwork][];
  wallets: [type: string, wallet: CardNetwork][];
  debits: [type: string, debit: BankDebit][];
  advice: AdviceCode[];
  responseCodes: [code: string, meaning: ResponseCode, everywhere: boolean][];
  gatewayCodes: [code: string, group: DeclineGroup][];
}

type JsonFields = Record<string, unknown>;

const ALLOWED_FIELDS = [
  "document",
  "date",
  "networks",
  "wallets",
  "bankDebits",
  "adviceCodes",
  "responseCodes",
  "gatewayCodes",
];

const LIMIT_SCOPE_WORDING: Readonly<Record<AttemptLimit["counts"], string>> = {
  card: "on a card",
  card_and_amount: "of one amount on a card",
  invoice: "of an invoice",
};

/**
 * Reads an operator's rules from JSON; docs/reference/rules.md describes the format. Anything the file leaves out keeps its
 * built-in rule.
 *
 * @returns the rules, or null and all problems, each with its place: `networks.visa.limits[0].attemptsMax …`
 */
export function parseRules(text: string): { rules: RuleOverrides | null; problems: string[] } {
  const problems: string[] = [];
  const wrong = (place: string, problem: string) => void problems.push(`${place} ${problem}`);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return { rules: null, problems: [`is not JSON: ${(error as Error).message}`] };
  }

  function fields(value: unknown, place: string, known: readonly string[] | null): JsonFields {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      wrong(place || "the file", "must be an object");
      return {};
    }
    for (const name of Object.keys(value))
      if (known && !known.includes(name))
        wrong(place ? `${place}.${name}` : name, `is not known. Write one of ${known.join(", ")}`);
    return value as JsonFields;
  }
  const entries = (value: unknown, place: string, known: readonly string[]): [string, JsonFields, string][] =>
    value === undefined
      ? []
      : Object.entries(fields(value, place, null)).map(([name, each]) => {
          const here = `${place}.${name}`;
          return [name, fields(each, here, known), here];
        });
  function whole(value: unknown, place: string, most: number): number | undefined {
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= most) return value;
    wrong(place, `must be a whole number from 1 to ${most}, not ${JSON.stringify(value)}`);
    return undefined;
  }
  function truth(value: unknown, place: string): boolean | undefined {
    if (value !== undefined && typeof value !== "boolean") wrong(place, "must be true or false");
    return value === true ? true : value === false ? false : undefined;
  }
  function words(value: unknown, place: string): string | undefined {
    if (value === undefined) return undefined;
    if (typeof value === "string" && value.trim() !== "" && value.length <= 200) return value;
    wrong(place, "must be a text of 1 to 200 characters");
    return undefined;
  }

  function groupOf(value: unknown, place: string): DeclineGroup | undefined {
    const group = DECLINE_GROUPS.find((each) => each === value);
    if (group === undefined) wrong(place, `must be one of ${DECLINE_GROUPS.join(", ")}`);
    return group;
  }

  const all = fields(json, "", ALLOWED_FIELDS);
  for (const name of ["document", "date"])
    if (all[name] === undefined) wrong(name, "is missing: say where these rules come from");
  const source = operatorSource(words(all.document, "document") ?? "", words(all.date, "date") ?? "");

  function limit(value: unknown, place: string): AttemptLimit {
    const { attemptsMax, days, hours, counts } = fields(value, place, ["attemptsMax", "days", "hours", "counts"]);
    const most = whole(attemptsMax, `${place}.attemptsMax`, 1000);
    if (attemptsMax === undefined) wrong(`${place}.attemptsMax`, "is missing");
    const inDays = whole(days, `${place}.days`, 365);
    const inHours = whole(hours, `${place}.hours`, 8760);
    if ((days === undefined) === (hours === undefined)) wrong(place, "must have either days or hours");
    const what = counts === "card" || counts === "card_and_amount" || counts === "invoice" ? counts : null;
    if (what === null) wrong(`${place}.counts`, 'must be "card", "card_and_amount" or "invoice"');
    const span = inDays === undefined ? `${inHours} hours` : `${inDays} days`;
    return {
      attemptsMax: most ?? 1,
      windowMs: inDays === undefined ? (inHours ?? 1) * HOUR_MS : inDays * DAY_MS,
      counts: what ?? "card",
      words: `${most} declined ${most === 1 ? "try" : "tries"} ${LIMIT_SCOPE_WORDING[what ?? "card"]} in ${span}`,
      source,
    };
  }
  function network(given: JsonFields, place: string, before: CardNetwork, name: string): CardNetwork {
    if (given.limits !== undefined && !Array.isArray(given.limits)) wrong(`${place}.limits`, "must be an array");
    const limits = Array.isArray(given.limits)
      ? given.limits.map((each, n) => limit(each, `${place}.limits[${n}]`))
      : null;
    return {
      name: words(given.name, `${place}.name`) ?? name,
      dialect: before.dialect,
      limits: limits ?? before.limits,
      barsCategory1: truth(given.barsCategory1, `${place}.barsCategory1`) ?? before.barsCategory1,
      readsAdvice: truth(given.readsAdvice, `${place}.readsAdvice`) ?? before.readsAdvice,
      source,
    };
  }
  function debit(given: JsonFields, place: string, before: BankDebit): BankDebit {
    const { representable: codes } = given;
    const areCodes =
      Array.isArray(codes) && codes.length > 0 && codes.every((code) => typeof code === "string" && code !== "");
    if (codes !== undefined && !areCodes)
      wrong(`${place}.representable`, "must be an array of one return code or more");
    const written = areCodes ? (codes as string[]).map(normalizeSchemeCode) : null;
    for (const code of written ?? [])
      if (!before.shape.test(code))
        wrong(`${place}.representable`, `has ${code}, which is not a code of ${before.name}`);
    const representable = written ? new Set(written) : before.representable;
    const most = whole(given.presentationsMax, `${place}.presentationsMax`, 100) ?? before.presentationsMax;
    const days = whole(given.withinDays, `${place}.withinDays`, 365) ?? before.withinMs / DAY_MS;
    const more = Number.isFinite(most) ? (most === 2 ? "1 more attempt" : `${most - 1} more attempts`) : "attempts";
    const after = [...representable].join(" or ");
    return {
      ...before,
      representable,
      presentationsMax: most,
      withinMs: days * DAY_MS,
      words: `${more} within ${days} days, and only after ${after}`,
      source,
    };
  }

  const NETWORK = ["name", "limits", "barsCategory1", "readsAdvice"];
  const rules: RuleOverrides = {
    networks: [],
    wallets: [],
    debits: [],
    advice: [],
    responseCodes: [],
    gatewayCodes: [],
  };
  for (const [brand, given, place] of entries(all.networks, "networks", NETWORK)) {
    const before = findCardNetwork(brand);
    rules.networks.push([brand, network(given, place, before, before === findCardNetwork(null) ? brand : before.name)]);
  }
  for (const [type, given, place] of entries(all.wallets, "wallets", ["name", "limits"])) {
    const before = findWallet(type) ?? {
      name: type,
      dialect: "common" as const,
      limits: [],
      barsCategory1: false,
      readsAdvice: false,
      source,
    };
    if (CARD_TYPES.has(type) || findBankDebit(type))
      wrong(place, "is not a wallet: its rules stand in networks or bankDebits");
    rules.wallets.push([type, network(given, place, before, before.name)]);
  }
  for (const [type, given, place] of entries(all.bankDebits, "bankDebits", [
    "presentationsMax",
    "withinDays",
    "representable",
  ])) {
    const before = BANK_DEBITS.get(type);
    if (before) rules.debits.push([type, debit(given, place, before)]);
    else wrong(place, `is not known. Write one of ${[...BANK_DEBITS.keys()].join(", ")}`);
  }
  const ADVICE = ["group", "waitHours", "bars", "triesMax", "words"];
  for (const [code, given, place] of entries(all.adviceCodes, "adviceCodes", ADVICE)) {
    const before = findAdviceCode(code, true);
    if (!before && Object.keys(given).length === 0)
      wrong(place, "is a code that Dunlin does not know: say what it means");
    const hours = whole(given.waitHours, `${place}.waitHours`, 8760);
    rules.advice.push({
      ...(before ?? unknownAdvice(code)),
      ...(given.group === undefined ? {} : { group: groupOf(given.group, `${place}.group`) ?? null }),
      ...(hours === undefined
        ? {}
        : { waitMs: hours * HOUR_MS, words: `the bank advises to try again after ${hours} hours` }),
      ...(given.words === undefined ? {} : { words: words(given.words, `${place}.words`) ?? "" }),
      bars: truth(given.bars, `${place}.bars`) ?? before?.bars ?? false,
      triesMax: whole(given.triesMax, `${place}.triesMax`, 100) ?? before?.triesMax ?? Number.POSITIVE_INFINITY,
      source,
    });
  }
  for (const [code, given, place] of entries(all.responseCodes, "responseCodes", ["category", "group", "words"])) {
    // Codes with three digits are read on American Express only.
    const before = findResponseCode(code, "amex");
    const category = whole(given.category, `${place}.category`, 4) ?? before?.category;
    if (category === undefined) wrong(`${place}.category`, "is missing: it is a code that Dunlin does not know");
    rules.responseCodes.push([
      code,
      {
        category: (category ?? 4) as VisaCategory,
        group:
          given.group === undefined && before ? before.group : (groupOf(given.group, `${place}.group`) ?? "GENERIC"),
        words: words(given.words, `${place}.words`) ?? before?.words ?? `code ${code}`,
        source,
      },
      given.group !== undefined,
    ]);
  }
  for (const [code, group] of Object.entries(fields(all.gatewayCodes ?? {}, "gatewayCodes", null)))
    rules.gatewayCodes.push([code, groupOf(group, `gatewayCodes.${code}`) ?? "UNKNOWN"]);
  return { rules: problems.length === 0 ? rules : null, problems };
}

/** Applies these rules to the whole process. Must be called once, before the first decision. */
export function applyRules({ networks, wallets, debits, advice, responseCodes, gatewayCodes }: RuleOverrides) {
  for (const [brand, network] of networks) setCardNetwork(brand, network);
  for (const [type, wallet] of wallets) setWallet(type, wallet);
  for (const [type, debit] of debits) setBankDebit(type, debit);
  for (const each of advice) setAdviceCode(each);
  for (const [code, meaning, everywhere] of responseCodes) setResponseCode(code, meaning, everywhere);
  for (const [code, group] of gatewayCodes) setGatewayCode(code, group);
}
