/* SPDX-License-Identifier: MIT
 *
 * Pieces of SQL that the statements about revisions share. For lib/store only.
 */
#ifndef OCC_STORE_REVISION_SQL_H
#define OCC_STORE_REVISION_SQL_H

#include "lib/store/work_sql.h"

/* Whether the deployment of a revision was completed: by then it was active, and all before it was retired. A
 * scalar sub-select, which is planned as a look into the index; an EXISTS may become a hash of the whole
 * queue.
 */
#define REVISION_COMPLETED(revision_id)                                                                      \
    "coalesce((select true from occ.controller_work d"                                                       \
    " where d.idempotency_key = " WORK_DEPLOYMENT_KEY(                                                       \
        revision_id) " and d.state = 'succeeded'"                                                            \
                     " and d.reason_code in ('REVISION_ACTIVATED', 'REVISION_ALREADY_ACTIVE') limit 1), "    \
                     "false)"

#endif
