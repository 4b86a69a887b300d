import assert from "node:assert/strict";
import { test } from "node:test";
import { describeUnknownCommand } from "./unknown-command.ts";

test("an unknown command lists subcommands or suggests the closest name", () => {
  assert.equal(
    describeUnknownCommand(["key"]),
    '"key" needs a subcommand: key create, key list, key rotate, key revoke.',
  );
  assert.match(
    describeUnknownCommand(["delivery", "frobnicate", "--json"]),
    /: delivery list, delivery show, delivery replay\.$/,
  );
  assert.match(
    describeUnknownCommand(["key", "creat"]),
    /^there is no command "key creat"\. Did you mean key create\?/,
  );
  assert.match(
    describeUnknownCommand(["expain", "inv_1"]),
    /^there is no command "expain inv_1"\. Did you mean explain\?/,
  );
  assert.equal(describeUnknownCommand(["brew"]), 'there is no command "brew". "npx dunlin --help" lists them.');
  assert.equal(describeUnknownCommand(["--brew"]), 'there is no command "--brew". "npx dunlin --help" lists them.');
});
