import { BILLING_PERIOD_UNITS, SUBSCRIPTION_STATES, type Subscription } from "../../domain/subscription.ts";
import { recordKind } from "./batch.ts";
import {
  amount,
  currency,
  INT4_MAX,
  identifier,
  integer,
  moment,
  momentAhead,
  oneOf,
  optional,
  text,
} from "./fields.ts";

export const SUBSCRIPTIONS = recordKind<Subscription>("subscriptions", {
  id: identifier,
  state: oneOf("SUBSCRIPTION_STATE_", SUBSCRIPTION_STATES),
  customerId: identifier,
  businessEntity: optional(text),
  planId: optional(identifier),
  amount,
  currency,
  createdAt: moment,
  updatedAt: optional(moment),
  activatedAt: optional(moment),
  canceledAt: optional(momentAhead),
  expiresAt: optional(momentAhead),
  billingPeriod: optional(integer(1, INT4_MAX)),
  billingPeriodUnit: optional(oneOf("BILLING_PERIOD_UNIT_", BILLING_PERIOD_UNITS)),
});
