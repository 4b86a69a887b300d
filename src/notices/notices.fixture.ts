import { randomBytes } from "node:crypto";
import pino from "pino";
import { createTestDatabase } from "../../test/database.ts";
import { startMailServer } from "../../test/mail-server.ts";
import { type TestClock, testClock, testMerchant, testPorts } from "../api/api.fixture.ts";
import { createAttentionStore } from "../attention/attention.fixture.ts";
import { createMailer } from "../auth/mail.ts";
import { type Receiver, type Request, startReceiver } from "../delivery/https/receiver.fixture.ts";
import { ALERT_KINDS, type AlertKind, type MemberNotices, NO_NOTICES } from "../domain/notice.ts";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import { openDatabase } from "../postgres/database.ts";
import { roleAddresses } from "../postgres/roles.ts";
import { openTenantDatabase } from "../postgres/tenant-database.ts";
import { addMember } from "../tables/members.ts";
import { insertPerson } from "../tables/people.ts";
import { createChatPoster } from "./chat.ts";
import type { NoticeService } from "./notice-service.ts";
import { setChat, setMemberNotices } from "./notice-settings.ts";
import { notifyDue } from "./notify-due.ts";

const SECRET_KEYS = [Buffer.alloc(32, 7)];
const CONSOLE_URL = "https://dunlin.example.com";

/** Starts a database, a mail server and a chat. */
export async function createNoticeStage() {
  const database = await createTestDatabase();
  const { api, worker } = roleAddresses(database.address, true);
  const db = openDatabase(worker, 4, () => {});
  const tenantDb = openTenantDatabase(api, 4, () => {});
  const mailServer = await startMailServer({});
  const messages: Request[] = [];
  const chat = { status: 200 };
  const receiver: Receiver = await startReceiver((request, reply) => {
    messages.push(request);
    reply.writeHead(chat.status).end();
  });
  const clock: TestClock = testClock();
  const ports = testPorts(clock);
  const network = { allow: receiver.allow, extraCa: receiver.ca, monotonicMs: () => performance.now() };
  const poster = createChatPoster(network, SECRET_KEYS);
  const service: NoticeService = {
    ...{ db, tenantDb, ports, log: pino({ level: "silent" }), postChat: poster.post, consoleUrl: CONSOLE_URL },
    mailer: createMailer({ url: `smtp://localhost:${mailServer.port}`, from: "dunlin@example.com" }),
  };
  const close = async () => {
    poster.close();
    await Promise.all([mailServer.stop(), receiver.close(), db.close(), tenantDb.close()]);
    await database.drop();
  };

  async function shop(settings: Parameters<typeof testMerchant>[2] = {}) {
    const merchant = await testMerchant(database.db, ports, { name: "Shop", ...settings });
    const email = `${randomBytes(4).toString("hex")}@example.com`;
    const person = {
      ...{ id: ports.newId(), email, name: "Ada", password: null, zone: "Europe/Berlin", theme: "system" as const },
      createdAt: ports.now(),
    };
    await insertPerson(database.db, person);
    await addMember(database.db, merchant.id, person.id, "viewer", ports.now());
    const own = tenantDb.of(merchant.id);
    return {
      merchant,
      person,
      /** Stores facts as of the present time. */
      store: () => createAttentionStore(database.db, merchant.id, ports.now()),
      want: (notices: Partial<MemberNotices>) =>
        setMemberNotices(own, merchant.id, person, { ...NO_NOTICES, ...notices }, ports),
      setChat: (alerts: readonly AlertKind[] = ALERT_KINDS, url = `${receiver.origin}/hooks/T0123/secret-part`) =>
        setChat(own, merchant.id, { url, alerts }, { actor: COMMAND_LINE_ACTOR, secretKeys: SECRET_KEYS, ports }),
      /** Decoded, also the HTML part. */
      texts: () =>
        mailServer.mails
          .filter(({ to }) => to.includes(email))
          .map(({ text }) => text.replaceAll("=\r\n", "").replaceAll("=3D", "=")),
      subjects: () =>
        mailServer.mails.filter(({ to }) => to.includes(email)).map(({ text }) => /^Subject: (.*)\r$/m.exec(text)![1]!),
    };
  }

  return {
    admin: database.db,
    close,
    service,
    clock,
    ports,
    chat,
    /** A chat that accepts messages on any path. */
    chatOrigin: receiver.origin,
    messages,
    shop,
    /** Moves both clocks ahead. */
    pass(ms: number) {
      clock.serviceMs += ms;
      clock.realMs += ms;
    },
    async run(over: Partial<NoticeService> = {}) {
      while (await notifyDue({ ...service, ...over }));
    },
  };
}
export type NoticeStage = Awaited<ReturnType<typeof createNoticeStage>>;
