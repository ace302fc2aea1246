/* SPDX-License-Identifier: MIT
 *
 * The scripted Driver's package. It is built several times, with other declarations each (see Makefile.inc):
 *
 *     scripted              activates after the commit, adopts existing namespaces
 *     scripted-early        activates before the commit, adopts none; its Sandbox provides no Harness
 *     scripted-maintained   asks for a maintenance pass each second; its Sandbox separates processes only
 *     scripted-plain        is for development only, and runs no Agents
 *
 * The first three have every capability, the last only Compute. Their ids are the same, so that one can take
 * over what another made.
 */
#include "lib/base/build.h"

#include "tests/drivers/scripted.h"

#ifndef SCRIPTED_NAME
#error "SCRIPTED_NAME is the package's name"
#endif

const struct occ_driver_package *occ_driver_package(void)
{
    static struct occ_compute compute;
    static struct occ_sandbox sandbox;
    static struct occ_driver_package package = {
        .interface = OCC_DRIVER_INTERFACE,
        .size = sizeof package,
        .name = SCRIPTED_NAME,
        .version = PACKAGE_VERSION,
        .compute = &compute,
        .iam = &scripted_iam,
        .configuration = &scripted_configuration,
        .secret = &scripted_secret,
        .sandbox = &sandbox,
    };

    compute = scripted_compute;
    sandbox = scripted_sandbox;
    if (strcmp(package.name, "scripted-early") == 0) {
        compute.activation_order = OCC_ACTIVATE_BEFORE_COMMIT;
        compute.supports_existing_namespaces = 0;
        sandbox.provision_harness = NULL;
    } else if (strcmp(package.name, "scripted-maintained") == 0) {
        compute.maintenance_interval_ms = 1000;
        sandbox.facets = OCC_SANDBOX_PROCESS;
    } else if (strcmp(package.name, "scripted-plain") == 0) {
        compute.development_only = 1;
        compute.validate_harness_auth = NULL;
        compute.bind_agent = NULL;
        compute.needs_stopped_predecessors = NULL;
        compute.prepare_revision = compute.activate_revision = compute.deactivate_revision = NULL;
        compute.stop_revision = compute.retire_revision = NULL;
        compute.provision_agent_credentials = compute.delete_agent_credentials = NULL;
        package.iam = NULL;
        package.configuration = NULL;
        package.secret = NULL;
        package.sandbox = NULL;
    }
    return &package;
}
