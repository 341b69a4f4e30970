// SPDX-License-Identifier: MIT
// The pages in their order: one module and one line each.
import { buy } from "./buy";
import { calls } from "./calls";
import { changes } from "./changes";
import { code } from "./code";
import { overview } from "./overview";
import { pipeline } from "./pipeline";
import { accuracy, run } from "./run";
import { stacks } from "./stacks";
import { Page } from "./state";
import { time } from "./time";

export const pages: Page[] = [changes, overview, time, code, calls, stacks, buy, pipeline, accuracy, run];
