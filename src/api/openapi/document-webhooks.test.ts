import assert from "node:assert/strict";
import { test } from "node:test";
import { EVENT_TYPES, envelope, flatRetryRequest, testBody } from "../../domain/event.ts";
import type { Part } from "./field-schema.ts";
import { at, DOCUMENT, validatorAt } from "./validator.fixture.ts";

const EXAMPLES = "content/application~1json/examples";

test("the document describes every event, in both shapes, as it is sent", () => {
  assert.deepEqual(Object.keys(DOCUMENT.webhooks as Part), [...EVENT_TYPES]);
  const [id, created] = ["019c7a11-9e20-7b3c-8a54-6f0e2d9b1c77", new Date(Date.UTC(2026, 0, 15))];
  for (const subscriptionId of ["sub_1", null])
    for (const actionSuggestion of ["UNSPECIFIED", "RETRY", "CARD_CHANGE"] as const)
      for (const type of EVENT_TYPES) {
        const data = { invoiceId: "inv_1", subscriptionId, actionSuggestion, idealRetryTime: created };
        const isAction = type === "recovery_action";
        const bodies = [
          envelope(id, type, created, isAction ? data : { invoiceId: "inv_1" }),
          testBody(id, type, created, false),
          ...(isAction ? [flatRetryRequest(id, data), testBody(id, type, created, true)] : []),
        ];
        const validate = validatorAt(`/webhooks/${type}/post/requestBody/content/application~1json/schema`);
        for (const body of bodies) assert.ok(validate(JSON.parse(body)), body);
        for (const other of EVENT_TYPES.filter((each) => each !== type))
          assert.equal(validate(JSON.parse(envelope(id, other, created, { invoiceId: "inv_1" }))), false);
      }
});

test("the examples of webhooks and of what endpoints answer fit their schemas", () => {
  const codes: Record<string, string> = {};
  for (const type of EVENT_TYPES) {
    const post = `/webhooks/${type}/post`;
    const contents = [
      `${post}/requestBody`,
      ...Object.keys(at(`${post}/responses`)).map((status) => `${post}/responses/${status}`),
    ];
    for (const content of contents)
      for (const { value } of Object.values(at<Record<string, { value: Part }>>(`${content}/${EXAMPLES}`))) {
        assert.ok(validatorAt(`${content}/content/application~1json/schema`)(value), content);
        if (value.error_code) codes[content.slice(-3)] = value.error_code as string;
      }
    assert.equal(at<Part>(`/webhooks/${type}`)["x-version"], "1.0");
  }
  assert.deepEqual(codes, {
    400: "invalid_request",
    401: "unauthorized",
    429: "rate_limit_exceeded",
    500: "server_error",
  });
});
