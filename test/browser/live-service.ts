import { randomBytes } from "node:crypto";
import type { BrowserContext } from "playwright-core";
import { beginSession } from "../../src/auth/sessions.ts";
import { SESSION_COOKIE } from "../../src/console/visit.ts";
import type { Role } from "../../src/domain/role.ts";
import { addMember } from "../../src/tables/members.ts";
import { insertPerson } from "../../src/tables/people.ts";
import { runService, type Service } from "../contract/running-service.ts";
import { launchChromium } from "./chromium.ts";

export interface LiveService {
  service: Service;
  /** Opens a browser context in which a person with this role at the merchant is signed in. */
  as(role: Role, merchantId: string): Promise<BrowserContext>;
  stop(): Promise<void>;
}

/** Opens the whole service as in production, with the real clock or a faster one, and a browser. */
export async function openLiveService(clockRate: number): Promise<LiveService> {
  const service = await runService({ clockRate });
  const browser = await launchChromium();
  const { db, ports } = service.store;
  const origin = new URL(service.settings.authUrl).origin;
  return {
    service,
    async as(role, merchantId) {
      const context = await browser.newContext({ ignoreHTTPSErrors: true, baseURL: origin });
      const id = ports.newId();
      const email = `${role}-${randomBytes(4).toString("hex")}@example.com`;
      const person = {
        id,
        email,
        name: role,
        password: "-",
        zone: "UTC",
        theme: "system",
        createdAt: ports.now(),
      } as const;
      await insertPerson(db, person);
      await addMember(db, merchantId, id, role, ports.now());
      const value = await beginSession(db, person, undefined, ports);
      await context.addCookies([
        { name: SESSION_COOKIE, value, url: origin, httpOnly: true, secure: true, sameSite: "Lax" },
      ]);
      return context;
    },
    async stop() {
      await browser.close();
      await service.stop();
    },
  };
}
