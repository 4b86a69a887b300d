import assert from "node:assert/strict";
import { test } from "node:test";
import { unknownCommand } from "./unknown-command.ts";

test("a word that begins several commands lists them, and a mistyped one is recognised", () => {
  assert.equal(
    unknownCommand(["key"]),
    '"key" is the beginning of 4 commands: key create, key list, key rotate, key revoke.',
  );
  assert.match(
    unknownCommand(["delivery", "frobnicate", "--json"]),
    /: delivery list, delivery show, delivery replay\.$/,
  );
  assert.match(unknownCommand(["key", "creat"]), /^there is no command "key creat"\. Did you mean key create\?/);
  assert.match(unknownCommand(["expain", "inv_1"]), /^there is no command "expain inv_1"\. Did you mean explain\?/);
  assert.equal(unknownCommand(["brew"]), 'there is no command "brew". "npx dunlin --help" lists them.');
  assert.equal(unknownCommand(["--brew"]), 'there is no command "--brew". "npx dunlin --help" lists them.');
});
