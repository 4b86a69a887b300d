import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ADVICE_CODES } from "./advice-codes.ts";
import { BANK_DEBITS } from "./bank-debits.ts";
import { listCardNetworks } from "./card-networks.ts";
import { CATEGORIES, GATEWAYS } from "./gateway-tables.ts";
import { RESPONSE_CODES } from "./response-codes.ts";
import { SOURCES, type Source } from "./sources.ts";
import { UNSENT_VALUES } from "./unsent-attempts.ts";
import { WALLETS } from "./wallets.ts";

const text = readFileSync(new URL("../../../docs/sources.md", import.meta.url), "utf8");
const paragraphOf = ({ anchor }: Source) => text.split(`<a id="${anchor}"></a>`)[1]!.split('<a id="')[0]!;

test("every source of a rule has its paragraph in docs/sources.md, and every paragraph has a source", () => {
  const anchors = [...text.matchAll(/^<a id="([^"]+)"><\/a>/gm)].map((match) => match[1]);
  const ours = Object.values(SOURCES).map((source) => source.anchor);
  assert.deepEqual([...anchors].sort(), [...ours].sort());
});

test("a source's document, date and verification are the same in its row and its paragraph", () => {
  for (const source of Object.values(SOURCES)) {
    const { document, date, verified } = source;
    const line = paragraphOf(source).split("\n")[2];
    assert.equal(line, `**${document}, ${date}**${verified ? "." : " [verify]."}`, source.anchor);
  }
});

test("every rule has a source, and every source has a rule", () => {
  const networks = [...listCardNetworks(), ...WALLETS.values()].flatMap(({ source, limits }) => [
    source,
    ...limits.map((limit) => limit.source),
  ]);
  const rows = [
    ...ADVICE_CODES,
    ...RESPONSE_CODES.values(),
    ...BANK_DEBITS.values(),
    ...Object.values(GATEWAYS),
    CATEGORIES,
    UNSENT_VALUES,
  ].map(({ source }) => source);
  const used = new Set([
    ...networks,
    ...rows,
    SOURCES.declineGroups,
    SOURCES.disputes,
    SOURCES.postponed,
    SOURCES.recoveryRule,
  ]);
  assert.deepEqual(
    [...used].map(({ anchor }) => anchor).sort(),
    Object.values(SOURCES)
      .map(({ anchor }) => anchor)
      .sort(),
  );
});
