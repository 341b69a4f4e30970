/* SPDX-License-Identifier: MIT */
/* The page in a program that was built without esbuild. */
#include "view/html.h"

const bool html_built = false;
const char html_missing[] =
    "this culprit was built without its page: install esbuild, then build again";
const char html_script[] = "", html_style[] = "";
