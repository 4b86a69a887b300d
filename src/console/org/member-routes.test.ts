import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { startMailServer } from "../../../test/mail-server.ts";
import { testMerchant } from "../../api/api.fixture.ts";
import { createMailer } from "../../auth/mail.ts";
import { COMMAND_LINE_ACTOR } from "../../domain/person.ts";
import { writeAuditEntry } from "../../tables/audit-log.ts";
import { membersOf } from "../../tables/members.ts";
import { createTestConsole, PASSWORD, type TestConsole } from "../console.fixture.ts";

let database: TestDatabase;
let at: TestConsole;
before(async () => {
  database = await createTestDatabase();
});
beforeEach(async () => {
  at = await createTestConsole({}, database);
});
after(() => database.drop());
const close = () => at.close();

const roles = async () =>
  Object.fromEntries((await membersOf(at.db, at.merchant.id)).map(({ email, role }) => [email, role]));
const linkIn = (page: string) => /\/join\?t=([\w-]{43})/.exec(page)?.[1];

test("an invite link is shown once and makes one person a member, and both steps are audited", async (t) => {
  t.after(close);
  const owner = await at.as("owner");
  const made = await owner.post("/org/members/invite", { role: "developer", email: "Dev@Example.com" });
  const token = linkIn(made.body)!;
  assert.ok(token);
  const page = (await owner.get("/org/members")).body;
  assert.match(page, /dev@example\.com/);
  assert.equal(linkIn(page), undefined);
  const fields = { t: token, email: "dev@example.com", name: "Dev", password: PASSWORD };
  assert.equal((await at.post("/join", fields)).statusCode, 303);
  assert.equal((await roles())["dev@example.com"], "developer");
  const log = await at.audited();
  assert.deepEqual(
    log.map(({ operation, actor, object }) => [operation, actor, object]),
    [
      ["member.joined", "dev@example.com", "dev@example.com"],
      ["member.invited", owner.person.email, "dev@example.com"],
    ],
  );
  assert.ok(!JSON.stringify(log).includes(token));
});

test("a revoked invite does not work", async (t) => {
  t.after(close);
  const owner = await at.as("owner");
  const token = linkIn((await owner.post("/org/members/invite", { role: "viewer", email: "" })).body)!;
  const id = /name="id" value="([^"]+)"/.exec((await owner.get("/org/members")).body)![1]!;
  assert.equal((await owner.post("/org/members/invite/revoke", { id })).statusCode, 303);
  assert.equal((await owner.post("/org/members/invite/revoke", { id })).statusCode, 409);
  assert.equal((await at.http.inject({ url: `/join?t=${token}` })).statusCode, 404);
});

test("a person's invites end with the permission to create them, and those of others stay", async (t) => {
  t.after(close);
  const [owner, second, admin] = [await at.as("owner"), await at.as("owner"), await at.as("admin")];
  const invited = async (by: typeof owner, role: string) =>
    linkIn((await by.post("/org/members/invite", { role, email: "" })).body)!;
  const works = async (token: string) => (await at.http.inject({ url: `/join?t=${token}` })).statusCode === 200;
  const [owners, byAdmin, byOwner, toOwn, toView] = [
    await invited(owner, "owner"),
    await invited(admin, "admin"),
    await invited(owner, "viewer"),
    await invited(second, "owner"),
    await invited(second, "viewer"),
  ];
  const all = async () => Promise.all([owners, byAdmin, byOwner, toOwn, toView].map(works));
  assert.deepEqual(await all(), [true, true, true, true, true]);
  // Someone who is no longer an owner cannot invite owners, but an admin still invites others.
  assert.equal((await owner.post("/org/members/role", { person: second.person.id, role: "admin" })).statusCode, 303);
  assert.deepEqual(await all(), [true, true, true, false, true]);
  assert.equal(
    (await owner.post("/org/members/role", { person: second.person.id, role: "developer" })).statusCode,
    303,
  );
  assert.deepEqual(await all(), [true, true, true, false, false]);
  assert.equal((await owner.post("/org/members/remove", { person: admin.person.id })).statusCode, 303);
  assert.deepEqual(await all(), [true, false, true, false, false]);
  const [removed] = await at.audited();
  assert.partialDeepStrictEqual(removed, { operation: "member.removed", details: { invites: 1 } });
});

test("an admin can change everyone except owners, cannot add owners, and the last owner stays", async (t) => {
  t.after(close);
  const [owner, admin, viewer] = [await at.as("owner"), await at.as("admin"), await at.as("viewer")];
  const person = viewer.person.id;
  assert.equal((await admin.post("/org/members/role", { person, role: "developer" })).statusCode, 303);
  assert.equal((await roles())[viewer.person.email], "developer");
  assert.equal((await admin.post("/org/members/role", { person, role: "owner" })).statusCode, 403);
  assert.equal((await admin.post("/org/members/invite", { role: "owner" })).statusCode, 403);
  const owns = owner.person.id;
  assert.equal((await admin.post("/org/members/role", { person: owns, role: "viewer" })).statusCode, 403);
  assert.equal((await admin.post("/org/members/remove", { person: owns })).statusCode, 403);
  assert.equal((await owner.post("/org/members/role", { person: owns, role: "viewer" })).statusCode, 409);
  assert.equal((await owner.post("/org/members/role", { person, role: "owner" })).statusCode, 303);
  assert.equal((await owner.post("/org/members/remove", { person: owns })).statusCode, 303);
  assert.deepEqual(Object.values(await roles()), ["owner", "admin"]);
  assert.equal((await owner.get("/account")).statusCode, 403, "who was removed sees nothing any more");
  const [last] = await at.audited();
  assert.deepEqual(
    [last?.operation, last?.object, last?.details.role],
    ["member.removed", owner.person.email, "owner"],
  );
});

test("one owner remains when two owners remove each other at the same time", async (t) => {
  t.after(close);
  const [one, two] = [await at.as("owner"), await at.as("owner")];
  const replies = await Promise.all([
    one.post("/org/members/remove", { person: two.person.id }),
    two.post("/org/members/remove", { person: one.person.id }),
  ]);
  assert.equal(Object.values(await roles()).length, 1, JSON.stringify(replies.map(({ statusCode }) => statusCode)));
});

test("viewers and developers can neither see nor change members, even with a forged form", async (t) => {
  t.after(close);
  const owner = await at.person("owner");
  for (const role of ["viewer", "developer"] as const) {
    const browser = await at.as(role);
    for (const path of ["/org/members", "/org/audit", "/org/audit.csv"])
      assert.equal((await browser.get(path)).statusCode, 403, path);
    for (const [path, fields] of [
      ["/org/members/invite", { role: "owner" }],
      ["/org/members/role", { person: browser.person.id, role: "admin" }],
      ["/org/members/remove", { person: owner.id }],
    ] as const)
      assert.equal((await browser.post(path, fields)).statusCode, 403, path);
    assert.doesNotMatch((await browser.get("/account")).body, /href="\/org\/members"/);
  }
  assert.deepEqual(await at.audited(), []);
});

test("members of another merchant are not accessible", async (t) => {
  t.after(close);
  const other = await testMerchant(at.db, at.ports, { name: "Other" });
  const stranger = await at.person("owner", other);
  const owner = await at.as("owner");
  assert.doesNotMatch((await owner.get("/org/members")).body, new RegExp(stranger.email));
  assert.equal((await owner.post("/org/members/remove", { person: stranger.id })).statusCode, 409);
  assert.equal((await membersOf(at.db, other.id)).length, 1);
});

test("audit details are shown as text, with times in the viewer's zone", async (t) => {
  t.after(close);
  const owner = await at.as("owner");
  const details = { permissions: ["ingest:invoices", "read:recovery_actions"], note: "", url: null, paused: true };
  const change = {
    operation: "key.created",
    object: "…abcd",
    details: { ...details, until: new Date("2026-03-09T14:05:00Z") },
  };
  await writeAuditEntry(at.db, at.merchant.id, COMMAND_LINE_ACTOR, change, at.ports);
  const { body } = await owner.get("/org/audit");
  for (const [name, words] of [
    ["permissions", "ingest:invoices, read:recovery_actions"],
    ["note", "none"],
    ["url", "none"],
    ["paused", "yes"],
    ["until", '<time datetime="2026-03-09T14:05:00.000Z" title="2026-03-09T14:05:00.000Z">9 Mar 2026 14:05</time>'],
  ] as const)
    assert.ok(body.includes(`<span class="soft">${name}</span> ${words}</div>`), name);
});

test("the audit log can be filtered and exported, but not changed or deleted", async (t) => {
  t.after(close);
  const owner = await at.as("owner");
  await owner.post("/org/members/invite", { role: "viewer", email: "=cmd@example.com" });
  assert.match((await owner.get("/org/audit?noun=member")).body, /=cmd@example\.com/);
  assert.match((await owner.get("/org/audit?noun=key")).body, /No change matches/);
  assert.equal((await owner.get("/org/audit?noun=cat")).statusCode, 400);
  assert.equal((await owner.get("/org/audit?colour=red")).statusCode, 400);
  const csv = await owner.get("/org/audit.csv");
  assert.match(String(csv.headers["content-type"]), /^text\/csv/);
  const [head, first] = csv.body.split("\r\n");
  assert.equal(head, "\ufeffat_utc,at,who,what,object,details,address");
  assert.match(
    first!,
    /^2026-01-15T00:00:00.000Z,2026-01-15T00:00:00.000\+00:00,owner-\w+@example.com,member.invited,'=cmd@example.com,/,
  );
  const before = await at.audited();
  for (const text of ["update audit_log set actor = 'nobody'", "delete from audit_log"])
    await at.db.run({ name: `test_${text.slice(0, 6)}`, text });
  assert.deepEqual(await at.audited(), before);
  // The service's database role has no such permission.
  const asked = await at.db.run<{ may: boolean }>({
    name: "test_audit_privileges",
    text: `select has_table_privilege(role, 'audit_log', deed) as may
      from unnest(array['dunlin_worker', 'dunlin_api']) as role, unnest(array['update', 'delete', 'truncate']) as deed`,
  });
  assert.deepEqual(
    asked.rows,
    Array.from({ length: 6 }, () => ({ may: false })),
  );
});

test("an invite is sent to its address, and its link makes a member", async (t) => {
  const server = await startMailServer({});
  const mailer = createMailer({ url: `smtp://localhost:${server.port}`, from: "dunlin@example.com" });
  const mailing = await createTestConsole({ mailer });
  t.after(async () => {
    await close();
    await mailing.close();
    await server.stop();
  });
  const owner = await mailing.as("owner");
  const sent = await owner.post("/org/members/invite", { role: "developer", email: "Dev@Example.com" });
  assert.match(sent.body, /Invite sent to dev@example\.com/);
  const [mail] = server.mails;
  assert.deepEqual(mail!.to, ["dev@example.com"]);
  assert.match(mail!.text, /Subject: Join Harbor Coffee Club on Dunlin/);
  const text = mail!.text.replaceAll("=\r\n", "").replaceAll("=3D", "=");
  assert.ok(text.includes(owner.person.email));
  const token = linkIn(text)!;
  assert.equal(token, linkIn(sent.body));
  const fields = { t: token, email: "dev@example.com", name: "Dev", password: PASSWORD };
  assert.equal((await mailing.post("/join", fields)).statusCode, 303);
  await owner.post("/org/members/invite", { role: "viewer", email: "" });
  assert.equal(server.mails.length, 1, "without an address there is nobody to send it to");
});

test("a failed mail is reported with the link, and the invite stays valid", async (t) => {
  const server = await startMailServer({ refuses: "<b>no such person</b>" });
  const mailer = createMailer({ url: `smtp://localhost:${server.port}`, from: "dunlin@example.com" });
  const mailing = await createTestConsole({ mailer });
  t.after(async () => {
    await close();
    await mailing.close();
  });
  const owner = await mailing.as("owner");
  const invite = (email: string) => owner.post("/org/members/invite", { role: "viewer", email });
  const refused = await invite("vic@example.com");
  assert.match(
    refused.body,
    /The mail to vic@example\.com failed: the mail server rejected the address \(its answer: 550 &lt;b&gt;no/,
  );
  await server.stop();
  const down = await invite("val@example.com");
  assert.match(down.body, /The mail to val@example\.com failed: the mail server did not answer correctly/);
  for (const [reply, email] of [
    [refused, "vic@example.com"],
    [down, "val@example.com"],
  ] as const) {
    const fields = { t: linkIn(reply.body)!, email, name: "V", password: PASSWORD };
    assert.equal((await mailing.post("/join", fields)).statusCode, 303);
  }
  assert.ok(mailing.api.lines.some((line) => line.includes("mail.failed")));
  assert.ok(!mailing.api.lines.some((line) => line.includes(linkIn(down.body)!)), "no log line holds a link");
});

test("an existing member or an invalid address cannot be invited", async (t) => {
  t.after(close);
  const owner = await at.as("owner");
  const viewer = await at.person("viewer");
  for (const [email, says] of [
    [viewer.email.toUpperCase(), /is already a member/],
    ["ada", /not a valid e-mail address/],
    ["a@example.com,b@example.com", /not a valid e-mail address/],
    ["a@example.com\r\nBcc: b@example.com", /not a valid e-mail address/],
  ] as const) {
    const reply = await owner.post("/org/members/invite", { role: "viewer", email });
    assert.equal(reply.statusCode, 400, email);
    assert.match(reply.body, says);
  }
  assert.deepEqual(await at.audited(), []);
});
