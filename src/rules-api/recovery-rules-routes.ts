import type { FastifyRequest } from "fastify";
import type { Actor } from "../domain/person.ts";
import type { Api } from "../http/api.ts";
import { ApiError, badFieldError } from "../http/errors.ts";
import { refuseUnsupportedBody } from "../http/framing.ts";
import { readJson } from "../ingest/read-json.ts";
import { type ProposedRule, parseRecoveryRules } from "../merchants/parse-recovery-rules.ts";
import { changeRecoveryRules } from "../merchants/recovery-rules.ts";
import { toRuleJson } from "../merchants/rule-json.ts";
import { type SegmentTotal, testRules } from "../merchants/test-recovery-rules.ts";
import type { ApiKey } from "../tables/api-keys.ts";
import { listRecoveryRules } from "../tables/recovery-rules.ts";
import { RULES_PATH, TEST_PATH, TEST_ROUTE } from "./paths.ts";

/** Lets a merchant's program read, replace and test the recovery rules. */
export function recoveryRulesRoutes(api: Api) {
  const config = { family: "other", path: RULES_PATH };
  const mayRead = api.requires("read:recovery_rules");
  api.http.get(RULES_PATH, { onRequest: mayRead, config }, async ({ caller }) => {
    const { id } = caller!.merchant;
    return { rules: (await listRecoveryRules(api.tenantDb.of(id), id)).map(toRuleJson) };
  });
  const mayChange = [api.requires("manage:recovery_rules"), refuseOtherBodies];
  api.http.put(RULES_PATH, { onRequest: mayChange, config }, async (request) => {
    const { merchant, key } = request.caller!;
    const db = api.tenantDb.of(merchant.id);
    const rules = await changeRecoveryRules(db, merchant.id, readRules(request), actorOf(key), api.ports);
    if (rules === null) throw new ApiError(404, "the merchant no longer exists");
    api.onIngested();
    return { requestId: request.id, rules: rules.map(toRuleJson) };
  });
  const mayTest = [mayRead, refuseOtherBodies];
  api.http.post(TEST_ROUTE, { onRequest: mayTest, config: { ...config, path: TEST_PATH } }, async (request) => {
    const { id } = request.caller!.merchant;
    const { rules, others, ...result } = await testRules(api.tenantDb.of(id), id, readRules(request));
    return { ...result, rules: rules.map(toTotalJson), others: toTotalJson(others) };
  });
}

function toTotalJson<Total extends SegmentTotal>({ amounts, ...total }: Total) {
  const byCurrency = Object.entries(amounts).sort(([a], [b]) => (a < b ? -1 : 1));
  return { ...total, amounts: byCurrency.map(([currency, amount]) => ({ currency, amount })) };
}

function readRules({ body }: FastifyRequest): ProposedRule[] {
  const { value } = readJson((body as Buffer | undefined) ?? Buffer.alloc(0));
  return readRulesOf(value);
}

/** @throws ApiError  a 400 that names the rule and the field at fault */
export function readRulesOf(value: unknown): ProposedRule[] {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new ApiError(400, "the body must be a JSON object");
  const rules = parseRecoveryRules((value as { rules?: unknown }).rules);
  if (!Array.isArray(rules)) throw badFieldError(rules.field, rules.rule);
  return rules;
}

/** In the audit log. */
const actorOf = ({ lastFour }: ApiKey): Actor => ({ personId: null, name: `API key …${lastFour}`, address: null });

function refuseOtherBodies({ raw }: FastifyRequest, _reply: unknown, done: () => void) {
  refuseUnsupportedBody(raw);
  done();
}
