/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/fault.h"

#include "lib/base/text.h"

#include <stdarg.h>

bool fault_set(struct fault *fault, enum fault_class class, const char *code, const char *format, ...)
{
    va_list arguments;

    memset(fault, 0, sizeof *fault);
    fault->class = class;
    text_copy(fault->code, sizeof fault->code, code);
    va_start(arguments, format);
    (void)vsnprintf(fault->message, sizeof fault->message, format, arguments);
    va_end(arguments);
    text_make_line(fault->message);
    return false;
}

bool fault_depends(struct fault *fault, const char *dependency, const char *cause)
{
    text_copy(fault->dependency, sizeof fault->dependency, dependency);
    text_copy(fault->cause, sizeof fault->cause, cause);
    return false;
}

bool fault_is(const struct fault *fault, const char *code)
{
    return strcmp(fault->code, code) == 0;
}

int fault_exit_status(const struct fault *fault)
{
    switch (fault->class) {
    case FAULT_NONE:
        return 0;
    case FAULT_PENDING:
    case FAULT_RETRYABLE:
    case FAULT_CLAIM_LOST:
    case FAULT_CANCELLED:
        return 75;
    case FAULT_CONFIGURATION:
        return 78;
    case FAULT_UNAVAILABLE:
        return 69;
    case FAULT_INVALID:
        return 2;
    case FAULT_PERMANENT:
    case FAULT_DENIED:
        return 1;
    case FAULT_NOT_FOUND:
        return 3;
    case FAULT_CONFLICT:
        return 4;
    case FAULT_BUG:
        break;
    }
    return 70;
}
