import { DAY_MS, HOUR_MS } from "../../domain/durations.ts";
import { type AdviceCode, findAdviceCode, setAdviceCode, unknownAdvice } from "./advice-codes.ts";
import {
  BANK_DEBITS,
  type BankDebit,
  describePresentations,
  findBankDebit,
  normalizeSchemeCode,
  setBankDebit,
} from "./bank-debits.ts";
import { type AttemptLimit, type CardNetwork, findCardNetwork, setCardNetwork } from "./card-networks.ts";
import type { DeclineGroup } from "./decline-groups.ts";
import { setGatewayCode } from "./gateway-codes.ts";
import { CARD_TYPES } from "./instrument.ts";
import { findResponseCode, type ResponseCode, setResponseCode, type VisaCategory } from "./response-codes.ts";
import { createRuleReader, type JsonFields, type RuleReader } from "./rule-reader.ts";
import { operatorSource, type Source } from "./sources.ts";
import { findWallet, setWallet } from "./wallets.ts";

/** They replace built-in rules. */
export interface RuleOverrides {
  networks: [brand: string, network: CardNetwork][];
  wallets: [type: string, wallet: CardNetwork][];
  debits: [type: string, debit: BankDebit][];
  advice: AdviceCode[];
  responseCodes: [code: string, meaning: ResponseCode, everywhere: boolean][];
  gatewayCodes: [code: string, group: DeclineGroup][];
}

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
  card_and_amount: "for one amount on a card",
  invoice: "for an invoice",
};

/**
 * JSON as described in docs/reference/rules.md. Anything left out keeps its built-in rule.
 *
 * @returns the rules, or null and all problems, each with its place: `networks.visa.limits[0].attemptsMax …`
 */
export function parseRules(text: string): { rules: RuleOverrides | null; problems: string[] } {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return { rules: null, problems: [`is not JSON: ${(error as Error).message}`] };
  }
  const problems: string[] = [];
  const reader = createRuleReader(problems);
  const file = reader.fields(json, "", ALLOWED_FIELDS);
  for (const name of ["document", "date"])
    if (file[name] === undefined) reader.wrong(name, "is missing: say where these rules come from");
  const source = operatorSource(reader.words(file.document, "document") ?? "", reader.words(file.date, "date") ?? "");
  const rules = {
    networks: readNetworks(reader, file, source),
    wallets: readWallets(reader, file, source),
    debits: readDebits(reader, file, source),
    advice: readAdviceCodes(reader, file, source),
    responseCodes: readResponseCodes(reader, file, source),
    gatewayCodes: readGatewayCodes(reader, file),
  };
  return { rules: problems.length === 0 ? rules : null, problems };
}

const NETWORK_FIELDS = ["name", "limits", "barsCategory1", "readsAdvice"];

const readNetworks = (reader: RuleReader, file: JsonFields, source: Source): RuleOverrides["networks"] =>
  reader.entries(file.networks, "networks", NETWORK_FIELDS).map(([brand, given, place]) => {
    const before = findCardNetwork(brand);
    const name = before === findCardNetwork(null) ? brand : before.name;
    return [brand, readNetwork(reader, given, place, { ...before, name, source })];
  });

const readWallets = (reader: RuleReader, file: JsonFields, source: Source): RuleOverrides["wallets"] =>
  reader.entries(file.wallets, "wallets", ["name", "limits"]).map(([type, given, place]) => {
    if (CARD_TYPES.has(type) || findBankDebit(type))
      reader.wrong(place, "is not a wallet: its rules stand in networks or bankDebits");
    const newWallet = { name: type, dialect: "common", limits: [], barsCategory1: false, readsAdvice: false } as const;
    return [type, readNetwork(reader, given, place, { ...(findWallet(type) ?? newWallet), source })];
  });

/** @param before  current rules, with the file as their source */
function readNetwork(reader: RuleReader, given: JsonFields, place: string, before: CardNetwork): CardNetwork {
  if (given.limits !== undefined && !Array.isArray(given.limits)) reader.wrong(`${place}.limits`, "must be an array");
  const limits = Array.isArray(given.limits)
    ? given.limits.map((each, n) => readLimit(reader, each, `${place}.limits[${n}]`, before.source))
    : null;
  return {
    ...before,
    name: reader.words(given.name, `${place}.name`) ?? before.name,
    limits: limits ?? before.limits,
    barsCategory1: reader.truth(given.barsCategory1, `${place}.barsCategory1`) ?? before.barsCategory1,
    readsAdvice: reader.truth(given.readsAdvice, `${place}.readsAdvice`) ?? before.readsAdvice,
  };
}

function readLimit(reader: RuleReader, value: unknown, place: string, source: Source): AttemptLimit {
  const given = reader.fields(value, place, ["attemptsMax", "days", "hours", "counts"]);
  const most = reader.whole(given.attemptsMax, `${place}.attemptsMax`, 1000);
  if (given.attemptsMax === undefined) reader.wrong(`${place}.attemptsMax`, "is missing");
  const days = reader.whole(given.days, `${place}.days`, 365);
  const hours = reader.whole(given.hours, `${place}.hours`, 8760);
  if ((given.days === undefined) === (given.hours === undefined)) reader.wrong(place, "must have either days or hours");
  const scope = (["card", "card_and_amount", "invoice"] as const).find((each) => each === given.counts);
  if (scope === undefined) reader.wrong(`${place}.counts`, 'must be "card", "card_and_amount" or "invoice"');
  const span = days === undefined ? `${hours} hours` : `${days} days`;
  return {
    attemptsMax: most ?? 1,
    windowMs: days === undefined ? (hours ?? 1) * HOUR_MS : days * DAY_MS,
    counts: scope ?? "card",
    words: `${most} declined ${most === 1 ? "attempt" : "attempts"} ${LIMIT_SCOPE_WORDING[scope ?? "card"]} in ${span}`,
    source,
  };
}

const DEBIT_FIELDS = ["presentationsMax", "withinDays", "representable"];

const readDebits = (reader: RuleReader, file: JsonFields, source: Source): RuleOverrides["debits"] =>
  reader.entries(file.bankDebits, "bankDebits", DEBIT_FIELDS).flatMap(([type, given, place]) => {
    const before = BANK_DEBITS.get(type);
    if (before) return [[type, readDebit(reader, given, place, { ...before, source })]];
    reader.wrong(place, `is not known. Write one of ${[...BANK_DEBITS.keys()].join(", ")}`);
    return [];
  });

function readDebit(reader: RuleReader, given: JsonFields, place: string, before: BankDebit): BankDebit {
  const { representable: codes } = given;
  const areCodes =
    Array.isArray(codes) && codes.length > 0 && codes.every((code) => typeof code === "string" && code !== "");
  if (codes !== undefined && !areCodes)
    reader.wrong(`${place}.representable`, "must be an array of one return code or more");
  const written = areCodes ? (codes as string[]).map(normalizeSchemeCode) : null;
  for (const code of written ?? [])
    if (!before.shape.test(code))
      reader.wrong(`${place}.representable`, `has ${code}, which is not a code of ${before.name}`);
  const representable = written ? new Set(written) : before.representable;
  const most = reader.whole(given.presentationsMax, `${place}.presentationsMax`, 100) ?? before.presentationsMax;
  const days = reader.whole(given.withinDays, `${place}.withinDays`, 365) ?? before.withinMs / DAY_MS;
  return {
    ...before,
    representable,
    presentationsMax: most,
    withinMs: days * DAY_MS,
    words: describePresentations(most, `${days} days`, [...representable]),
  };
}

const ADVICE_FIELDS = ["group", "waitHours", "bars", "triesMax", "words"];

const readAdviceCodes = (reader: RuleReader, file: JsonFields, source: Source): AdviceCode[] =>
  reader.entries(file.adviceCodes, "adviceCodes", ADVICE_FIELDS).map(([code, given, place]) => {
    const before = findAdviceCode(code, true);
    if (!before && Object.keys(given).length === 0)
      reader.wrong(place, "is a code that Dunlin does not know: say what it means");
    const hours = reader.whole(given.waitHours, `${place}.waitHours`, 8760);
    return {
      ...(before ?? unknownAdvice(code)),
      ...(given.group === undefined ? {} : { group: reader.groupOf(given.group, `${place}.group`) ?? null }),
      ...(hours === undefined
        ? {}
        : { waitMs: hours * HOUR_MS, words: `the bank advised waiting ${hours} ${hours === 1 ? "hour" : "hours"}` }),
      ...(given.words === undefined ? {} : { words: reader.words(given.words, `${place}.words`) ?? "" }),
      bars: reader.truth(given.bars, `${place}.bars`) ?? before?.bars ?? false,
      triesMax: reader.whole(given.triesMax, `${place}.triesMax`, 100) ?? before?.triesMax ?? Number.POSITIVE_INFINITY,
      source,
    };
  });

const RESPONSE_FIELDS = ["category", "group", "words"];

const readResponseCodes = (reader: RuleReader, file: JsonFields, source: Source): RuleOverrides["responseCodes"] =>
  reader.entries(file.responseCodes, "responseCodes", RESPONSE_FIELDS).map(([code, given, place]) => {
    // Codes with three digits are read on American Express only.
    const before = findResponseCode(code, "amex");
    const category = reader.whole(given.category, `${place}.category`, 4) ?? before?.category;
    if (category === undefined) reader.wrong(`${place}.category`, "is missing: it is a code that Dunlin does not know");
    const group =
      given.group === undefined && before ? before.group : (reader.groupOf(given.group, `${place}.group`) ?? "GENERIC");
    const words = reader.words(given.words, `${place}.words`) ?? before?.words ?? `code ${code}`;
    return [code, { category: (category ?? 4) as VisaCategory, group, words, source }, given.group !== undefined];
  });

const readGatewayCodes = (reader: RuleReader, file: JsonFields): RuleOverrides["gatewayCodes"] =>
  Object.entries(reader.fields(file.gatewayCodes ?? {}, "gatewayCodes", null)).map(([code, group]) => [
    code,
    reader.groupOf(group, `gatewayCodes.${code}`) ?? "UNKNOWN",
  ]);

/** Must be called once, before the first decision. */
export function applyRules({ networks, wallets, debits, advice, responseCodes, gatewayCodes }: RuleOverrides) {
  for (const [brand, network] of networks) setCardNetwork(brand, network);
  for (const [type, wallet] of wallets) setWallet(type, wallet);
  for (const [type, debit] of debits) setBankDebit(type, debit);
  for (const each of advice) setAdviceCode(each);
  for (const [code, meaning, everywhere] of responseCodes) setResponseCode(code, meaning, everywhere);
  for (const [code, group] of gatewayCodes) setGatewayCode(code, group);
}
