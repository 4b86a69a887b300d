import { backtestCommand } from "./backtest.ts";
import type { Command } from "./command.ts";
import { deliveryList, deliveryReplay, deliveryShow } from "./delivery.ts";
import { demo } from "./demo.ts";
import { doctor } from "./doctor.ts";
import { experimentCreate, experimentList, experimentShow, experimentStart, experimentStop } from "./experiment.ts";
import { explain } from "./explain.ts";
import { importHistory } from "./import.ts";
import { invite } from "./invite.ts";
import { keyCreate, keyList, keyRevoke, keyRotate } from "./key.ts";
import { listen } from "./listen.ts";
import { merchantCreate, merchantList, merchantSet } from "./merchant.ts";
import { requestList, requestShow } from "./request.ts";
import { serve } from "./serve.ts";
import { simulate } from "./simulate.ts";
import { trigger } from "./trigger.ts";
import { webhookSecretRemove, webhookSecretRotate } from "./webhook-secret.ts";
import { webhookTest } from "./webhook-test.ts";

/** Every command, in the order in which the help lists them. */
export const COMMANDS: readonly Command[] = [
  serve,
  demo,
  doctor,
  merchantCreate,
  merchantSet,
  merchantList,
  invite,
  keyCreate,
  keyList,
  keyRotate,
  keyRevoke,
  importHistory,
  requestList,
  requestShow,
  explain,
  deliveryList,
  deliveryShow,
  deliveryReplay,
  webhookTest,
  listen,
  trigger,
  webhookSecretRotate,
  webhookSecretRemove,
  experimentStart,
  experimentCreate,
  experimentStop,
  experimentList,
  experimentShow,
  backtestCommand,
  simulate,
];
