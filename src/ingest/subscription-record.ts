import { BILLING_PERIOD_UNITS, SUBSCRIPTION_STATES, type Subscription } from "../domain/subscription.ts";
import { createRecordKind } from "./parse-batch.ts";
import {
  amount,
  currency,
  enumField,
  futureTimestamp,
  INT4_MAX,
  identifier,
  integerField,
  optionalField,
  text,
  timestamp,
} from "./record-fields.ts";

export const SUBSCRIPTION_KIND = createRecordKind<Subscription>("subscriptions", {
  id: identifier,
  state: enumField("SUBSCRIPTION_STATE_", SUBSCRIPTION_STATES),
  customerId: identifier,
  businessEntity: optionalField(text),
  planId: optionalField(identifier),
  amount,
  currency,
  createdAt: timestamp,
  updatedAt: optionalField(timestamp),
  activatedAt: optionalField(timestamp),
  canceledAt: optionalField(futureTimestamp),
  expiresAt: optionalField(futureTimestamp),
  billingPeriod: optionalField(integerField(1, INT4_MAX)),
  billingPeriodUnit: optionalField(enumField("BILLING_PERIOD_UNIT_", BILLING_PERIOD_UNITS)),
});
