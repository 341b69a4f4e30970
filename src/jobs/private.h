/* SPDX-License-Identifier: MIT */
/* Folders whose changes are this process' alone. */
#ifndef JOBS_PRIVATE_H
#define JOBS_PRIVATE_H

/*
 * Covers each folder so that what this process and its children change there is seen by them alone
 * and gone with them, and takes the files `absent` away there. Both are absolute paths without
 * symbolic links, NULL-terminated. scratch is an empty folder. What the system does not allow is
 * left as it is; a file is only ever taken away where it is covered. Between fork and exec.
 */
void private_folders(char *const *folders, char *const *absent, const char *scratch);

#endif
