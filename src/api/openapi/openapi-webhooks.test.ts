import assert from "node:assert/strict";
import { test } from "node:test";
import {
  buildEnvelope,
  buildFlatRetryRequest,
  buildTestBody,
  EVENT_TYPES,
  exampleCaseEvent,
} from "../../domain/event.ts";
import type { DocumentPart } from "./field-schema.ts";
import { createValidatorAt, DOCUMENT, partAt } from "./validator.fixture.ts";

const EXAMPLES_POINTER = "content/application~1json/examples";

test("every event matches its documented schema in both shapes", () => {
  assert.deepEqual(Object.keys(DOCUMENT.webhooks as DocumentPart), [...EVENT_TYPES]);
  const [id, created] = ["019c7a11-9e20-7b3c-8a54-6f0e2d9b1c77", new Date(Date.UTC(2026, 0, 15))];
  for (const subscriptionId of ["sub_1", null])
    for (const actionSuggestion of ["UNSPECIFIED", "RETRY", "CARD_CHANGE"] as const)
      for (const type of EVENT_TYPES) {
        const data = { invoiceId: "inv_1", subscriptionId, actionSuggestion, idealRetryTime: created };
        const isAction = type === "recovery_action";
        const bodies = [
          buildEnvelope(id, type, created, isAction ? data : exampleCaseEvent(type, "inv_1")),
          buildTestBody(id, type, created, false),
          ...(isAction ? [buildFlatRetryRequest(id, data), buildTestBody(id, type, created, true)] : []),
        ];
        const validate = createValidatorAt(`/webhooks/${type}/post/requestBody/content/application~1json/schema`);
        for (const body of bodies) assert.ok(validate(JSON.parse(body)), body);
        for (const other of EVENT_TYPES.filter((each) => each !== type))
          assert.equal(
            validate(JSON.parse(buildEnvelope(id, other, created, exampleCaseEvent(other, "inv_1")))),
            false,
          );
      }
});

test("the examples of webhooks and of endpoints' answers match their schemas", () => {
  const codes: Record<string, string> = {};
  for (const type of EVENT_TYPES) {
    const post = `/webhooks/${type}/post`;
    const contents = [
      `${post}/requestBody`,
      ...Object.keys(partAt(`${post}/responses`)).map((status) => `${post}/responses/${status}`),
    ];
    for (const content of contents)
      for (const { value } of Object.values(
        partAt<Record<string, { value: DocumentPart }>>(`${content}/${EXAMPLES_POINTER}`),
      )) {
        assert.ok(createValidatorAt(`${content}/content/application~1json/schema`)(value), content);
        if (value.error_code) codes[content.slice(-3)] = value.error_code as string;
      }
    assert.equal(partAt<DocumentPart>(`/webhooks/${type}`)["x-version"], "1.0");
  }
  assert.deepEqual(codes, {
    400: "invalid_request",
    401: "unauthorized",
    429: "rate_limit_exceeded",
    500: "server_error",
  });
});
