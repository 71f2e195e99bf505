/*-------------------------------------------------------------------------
 *
 * calibration.c
 *	  The shared memory of a calibration.  See calibration.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/shmem.h"

#include "calibrate/calibration.h"
#include "server/worker.h"

#define NN_CALIBRATION_MAGIC	0x6e6f6963	/* "noic" */

NnCalibration *
nn_calibration_create(const NnCalibrationRequest *request, const char *label, const char *parameters,
					  dsm_segment **segment)
{
	Size		label_offset = MAXALIGN(sizeof(NnCalibration));
	Size		parameters_offset = add_size(label_offset, label ? strlen(label) + 1 : 0);
	Size		size = add_size(parameters_offset, strlen(parameters) + 1);
	NnCalibration *calibration;

	*segment = dsm_create(size, 0);
	calibration = dsm_segment_address(*segment);
	memset(calibration, 0, sizeof(*calibration));
	calibration->request = *request;
	calibration->label_offset = label ? label_offset : 0;
	calibration->parameters_offset = parameters_offset;
	if (label)
		strcpy((char *) calibration + label_offset, label);
	strcpy((char *) calibration + parameters_offset, parameters);
	pg_atomic_init_u32(&calibration->stop, NN_STOP_NONE);
	pg_atomic_init_u32(&calibration->worker_procno, PG_UINT32_MAX);
	calibration->caller_procno = nn_my_procno();
	SpinLockInit(&calibration->mutex);
	calibration->state = NN_RUN_STARTING;
	pg_write_barrier();
	calibration->magic = NN_CALIBRATION_MAGIC;
	return calibration;
}

NnCalibration *
nn_calibration_attach(dsm_handle handle, dsm_segment **segment)
{
	NnCalibration *calibration;

	*segment = dsm_attach(handle);
	if (*segment == NULL)
		return NULL;
	calibration = dsm_segment_address(*segment);
	if (dsm_segment_map_length(*segment) < sizeof(NnCalibration) || calibration->magic != NN_CALIBRATION_MAGIC)
	{
		dsm_detach(*segment);
		return NULL;
	}
	return calibration;
}

const char *
nn_calibration_label(NnCalibration *calibration)
{
	return calibration->label_offset ? (const char *) calibration + calibration->label_offset : NULL;
}

const char *
nn_calibration_parameters(NnCalibration *calibration)
{
	return (const char *) calibration + calibration->parameters_offset;
}

void
nn_calibration_tell(NnCalibration *calibration, const char *fmt,...)
{
	char		line[NN_LINE_LEN];
	va_list		args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	SpinLockAcquire(&calibration->mutex);
	if (calibration->n_lines < NN_MAX_LINES)
		memcpy(calibration->lines[calibration->n_lines++], line, sizeof(line));
	SpinLockRelease(&calibration->mutex);
	nn_wake(calibration->caller_procno);
}
